"""cosylite: text to speech for CPUs, with the CosyVoice family and a bundled tiny voice."""

__version__ = "0.1.0"
