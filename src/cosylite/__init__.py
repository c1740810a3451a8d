"""cosylite: text to speech for CPUs, with the CosyVoice family and a bundled tiny voice."""

from cosylite.audio.values import AudioChunk
from cosylite.errors import CosyliteError
from cosylite.options import SynthesisOptions, Voice
from cosylite.tts import TTS

__version__ = "0.1.0"
__all__ = ["TTS", "AudioChunk", "CosyliteError", "SynthesisOptions", "Voice", "__version__"]
