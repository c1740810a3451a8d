"""The official families, and what is fixed in their code rather than in their settings."""

from collections.abc import Mapping
from typing import Literal, get_args

Family = Literal["v1", "v2", "v3"]
"""v1 is CosyVoice-300M (also -SFT, -Instruct), v2 is CosyVoice2-0.5B, v3 is Fun-CosyVoice3-0.5B."""
FAMILIES: tuple[Family, ...] = get_args(Family)

SILENT_TOKENS: Mapping[Family, frozenset[int]] = {
    "v1": frozenset(),
    "v2": frozenset(),
    "v3": frozenset({1, 2, 28, 29, 55, 248, 494, 2241, 2242, 2322, 2323}),
}
"""Speech tokens that are heard as silence; long runs of them are cut (`tokens`)."""

LISTENERS: Mapping[Family, tuple[str, str]] = {
    "v1": ("speech_tokenizer_v1.onnx", "campplus.onnx"),
    "v2": ("speech_tokenizer_v2.onnx", "campplus.onnx"),
    "v3": ("speech_tokenizer_v3.onnx", "campplus.onnx"),
}
"""Official graphs that hear a prompt: the speech tokenizer, and the network that recognises speakers."""
SPEAKER_SIZE = 192
"""Size of a speaker vector."""

LANGUAGES = ("zh", "en", "ja", "ko")
"""What all families speak, besides dialects and, in v3, five European languages."""
