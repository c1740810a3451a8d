"""The tokenizers of the official families: byte-pair encodings with special pieces.

CosyVoice 1 uses that of Whisper, which comes with this package; CosyVoice 2 and 3 use that of Qwen2, which comes with
their checkpoints. In bundles a vocabulary is a packed file: every piece in the order of its id, one byte of length
before its bytes, compressed with xz.
"""

import json
import lzma
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cosylite.errors import BundleError, DeviceError

if TYPE_CHECKING:
    import tiktoken

WHISPER_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
V2_SPECIALS = 19
"""How many of the special pieces of v3 exist in v2."""


@dataclass(frozen=True)
class Tokenizer:
    """Text to ids. `normal_form` is applied first where the model was trained so."""

    encoding: "tiktoken.Encoding"
    specials: Mapping[str, int]
    normal_form: Literal["NFC"] | None = None

    def encode(self, text: str) -> list[int]:
        """Ids of a text; special pieces in it count as such."""
        if self.normal_form:
            text = unicodedata.normalize(self.normal_form, text)
        return self.encoding.encode(text, allowed_special="all")

    def decode(self, ids: Iterable[int]) -> str:
        """Text of ids; broken characters become replacement marks."""
        return self.encoding.decode(list(ids))


def whisper_tokenizer(pieces: list[bytes] | None = None, *, recipe_25hz: bool = False) -> Tokenizer:
    """The tokenizer of CosyVoice 1.

    Args:
        pieces: another vocabulary than Whisper's.
        recipe_25hz: the special pieces of the 25 Hz recipe, which is not among the releases.
    """
    pieces = whisper_vocabulary() if pieces is None else pieces
    return _build("whisper", pieces, _whisper_specials(recipe_25hz), WHISPER_PATTERN, None)


def qwen_tokenizer(pieces: list[bytes], family: Literal["v2", "v3"]) -> Tokenizer:
    """The tokenizer of CosyVoice 2 or 3, from the vocabulary of Qwen2."""
    names = qwen_specials()
    specials = ["<|endoftext|>", *(names[:V2_SPECIALS] if family == "v2" else names)]
    return _build(f"qwen-{family}", pieces, specials, QWEN_PATTERN, "NFC")


def qwen_specials() -> list[str]:
    """The special pieces of CosyVoice 3, of which those of CosyVoice 2 are the first; without the end of text."""
    return _data("qwen_specials.txt").decode().splitlines()


def whisper_vocabulary() -> list[bytes]:
    """The pieces of Whisper's multilingual vocabulary."""
    return unpack(_data("whisper.ranks.xz"))


def _build(
    name: str, pieces: list[bytes], specials: list[str], pattern: str, normal_form: Literal["NFC"] | None
) -> Tokenizer:
    try:
        import tiktoken
    except ImportError as error:
        raise DeviceError(
            "the official families need tiktoken; install cosylite[family]", code="missing_dependency", param="tiktoken"
        ) from error
    ids = {special: len(pieces) + i for i, special in enumerate(specials)}
    ranks = {piece: rank for rank, piece in enumerate(pieces)}
    return Tokenizer(
        tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=ids), ids, normal_form
    )


def _whisper_specials(recipe_25hz: bool) -> list[str]:
    languages = _data("whisper_languages.txt").decode().split()
    events = ["ASR", "AED", "SER", *(s + e for e in ("Speech", "BGM", "Laughter", "Applause") for s in ("", "/"))]
    voices = ["B", "O", "Q", "A", "CO", "CL", "H", *(f"SP{i:02d}" for i in range(1, 14))]
    names = ["endoftext", "startoftranscript", *languages]
    names += [*events, "HAPPY", "SAD", "ANGRY", "NEUTRAL"] if recipe_25hz else []
    names += ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    names += [f"SPECIAL_TOKEN_{i}" for i in range(1, 31)] + [f"TTS/{v}" for v in voices] if recipe_25hz else []
    names += [f"{i * 0.02:.2f}" for i in range(1501)]
    return [f"<|{name}|>" for name in names]


def pack(pieces: Iterable[bytes]) -> bytes:
    """A vocabulary as bundles hold it."""
    return lzma.compress(b"".join(bytes([len(piece)]) + piece for piece in pieces), preset=9)


def unpack(packed: bytes) -> list[bytes]:
    """The pieces of a packed vocabulary."""
    try:
        raw = lzma.decompress(packed)
    except lzma.LZMAError as error:
        raise BundleError("the vocabulary is damaged; install it again", code="damaged_file") from error
    pieces, at = [], 0
    while at < len(raw):
        end = at + 1 + raw[at]
        pieces.append(raw[at + 1 : end])
        at = end
    return pieces


def read_qwen_vocabulary(directory: Path) -> list[bytes]:
    """The pieces of Qwen2 in the order of their ids, from vocab.json and merges.txt of a checkpoint.

    Raises:
        BundleError: a file is missing or damaged, or the ids do not follow the order of the merges.
    """
    vocabulary: Any = _read(directory / "vocab.json")
    merges = [line for line in _read(directory / "merges.txt").splitlines() if line and not line.startswith("#version")]
    try:
        table = json.loads(vocabulary)
        written = _bytes_of_letters()
        pieces = [bytes(written[c] for c in piece) for piece, _ in sorted(table.items(), key=lambda item: item[1])]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(
            f"{directory / 'vocab.json'} is damaged; download it again", code="damaged_file", param="vocab.json"
        ) from error
    for rank, merge in enumerate(merges, start=256):
        if table.get(merge.replace(" ", "")) != rank:
            raise BundleError(
                f"{directory / 'merges.txt'} does not belong to vocab.json; download both again",
                code="bad_checkpoint",
                param="merges.txt",
            )
    return pieces


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BundleError(
            f"{path} is missing; download the complete model", code="missing_file", param=path.name
        ) from error
    except UnicodeDecodeError as error:
        raise BundleError(f"{path} is damaged; download it again", code="damaged_file", param=path.name) from error


def _bytes_of_letters() -> dict[str, int]:
    """The letters that GPT-2 style vocabularies use for bytes: printable ones themselves, others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(hidden)}


def _data(name: str) -> bytes:
    return resources.files(__package__).joinpath("data", name).read_bytes()
