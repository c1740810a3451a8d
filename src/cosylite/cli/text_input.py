"""Options that say what text to read and how, shared by the commands."""

import argparse
import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cosylite.errors import InputError, OutputError
from cosylite.text.lexicon import Lexicon
from cosylite.text.types import LANGS

_BLOCK = 8192


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare TEXT, --file, --lang, --default-han, --lexicon and --skip-unknown."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the text, or - for standard input")
    parser.add_argument("--file", type=Path, metavar="FILE", help="read the text from FILE (UTF-8)")
    parser.add_argument(
        "--lang",
        default="auto",
        choices=("auto", *LANGS),
        help="language of what can be read in several (default: auto, by script and context)",
    )
    parser.add_argument(
        "--default-han",
        default="zh",
        choices=("zh", "ja"),
        help="language of Chinese characters that nothing else decides (default: zh)",
    )
    parser.add_argument(
        "--lexicon", type=Path, metavar="FILE", help="readings: lines of word, language, reading with tabs"
    )
    parser.add_argument(
        "--skip-unknown", action="store_true", help="leave out scripts that cosylite cannot read instead of stopping"
    )


def text_pieces(args: argparse.Namespace) -> Iterator[str]:
    """The text as it comes in: one piece for TEXT, blocks for a file or standard input.

    Raises:
        InputError: no text or two are given (`usage`), or it is not UTF-8 (`bad_encoding`).
        OutputError: the file cannot be read (`unreadable_file`).
    """
    if (args.text is None) == (args.file is None):
        raise InputError(
            "give the text as TEXT, as - for standard input, or with --file FILE", code="usage", param="text"
        )
    if args.file is not None:
        yield from _file_pieces(args.file)
    elif args.text == "-":
        yield from _decoded(sys.stdin.buffer, "standard input")
    else:
        yield args.text


def read_text(args: argparse.Namespace) -> str:
    """The whole text; raises what `text_pieces` raises."""
    return "".join(text_pieces(args))


def read_lexicon(args: argparse.Namespace) -> Lexicon | None:
    """The lexicon of --lexicon.

    Raises:
        InputError: `bad_lexicon`, naming the line.
        OutputError: `unreadable_file`.
    """
    return None if args.lexicon is None else Lexicon.load(args.lexicon)


def _file_pieces(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            yield from _decoded(file, str(path))
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}", code="unreadable_file", param="file") from error


def _decoded(stream: BinaryIO, name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        while block := _read(stream):
            if piece := decoder.decode(block):
                yield piece
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8: {error.reason}; save it as UTF-8", code="bad_encoding", param="text"
        ) from error


def _read(stream: BinaryIO) -> bytes:
    """What is there, without waiting for a full block where the stream can tell."""
    read1 = getattr(stream, "read1", stream.read)
    block: bytes = read1(_BLOCK)
    return block
