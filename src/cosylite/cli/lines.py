"""`cosylite say --lines`: one audio file per line of the text."""

import argparse
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cosylite.audio.files import write_file
from cosylite.audio.values import Speech
from cosylite.cli.engine_options import load_tts, synthesis_options
from cosylite.cli.progress import Progress
from cosylite.cli.text_input import text_pieces
from cosylite.cli.timings import WRITERS
from cosylite.errors import InputError, OutputError
from cosylite.options import SynthesisOptions

if TYPE_CHECKING:
    from cosylite.runtime.speaker import Speaker

TOGETHER = 32
"""Lines that are spoken together; bounds the memory."""


def say_lines(args: argparse.Namespace) -> int:
    """Speak every line that is not empty into `0001.wav`, `0002.wav`, ... of --out-dir, numbered by line.

    A line that cannot be spoken is reported and left out; the exit code is then that of its error.

    Raises:
        CosyliteError: bad options, bundle, device or output.
    """
    _check(args)
    options, folder, kind = synthesis_options(args), args.out_dir, args.format or "wav"
    lines = _numbered(text_pieces(args))
    first = next(lines, None)
    if first is None:
        raise InputError("the text has no line to speak: give at least one", code="empty_text", param="text")
    _make_folder(folder)
    speaker = load_tts(args).speaker
    start, progress = time.perf_counter(), Progress(None, quiet=args.quiet)
    files, seconds, code = 0, 0.0, 0
    try:
        for window in _windows(itertools.chain([first], lines)):
            for number, outcome in _speak(speaker, window, options):
                if isinstance(outcome, InputError):
                    progress.close()
                    print(f"cosylite: line {number}: {outcome}", file=sys.stderr)
                    code = outcome.exit_code
                    continue
                write_file(folder / f"{number:04d}.{kind}", outcome.samples, outcome.sample_rate, kind)
                files, seconds = files + 1, seconds + outcome.duration
            progress.update(0, seconds)
    finally:
        progress.close()
    if not args.quiet:
        elapsed = time.perf_counter() - start
        print(f"{folder}: {files} files, {seconds:.2f} s of audio, made in {elapsed:.2f} s")
    return code


def _check(args: argparse.Namespace) -> None:
    if not args.lines or args.out_dir is None:
        raise InputError("--lines and --out-dir DIR belong together", code="usage", param="out_dir")
    unused = ["output", "play", "chunk_frames", *WRITERS]
    given = [name for name in unused if getattr(args, name)]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')} does not go with --lines", code="usage", param=given[0])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make {folder}: {error.strerror}", code="cannot_write", param="out_dir") from error


def _numbered(pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1."""
    rest, number = "", 0
    for piece in itertools.chain(pieces, ["\n"]):
        *lines, rest = (rest + piece).replace("\r\n", "\n").split("\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, line


def _windows(lines: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    while window := list(itertools.islice(lines, TOGETHER)):
        yield window


def _speak(
    speaker: "Speaker", window: list[tuple[int, str]], options: SynthesisOptions
) -> Iterator[tuple[int, Speech | InputError]]:
    """Speech of every line, together; one by one where a line of them cannot be spoken."""
    try:
        speeches = speaker.say_many([text for _, text in window], options)
    except InputError as error:
        if len(window) == 1:
            yield window[0][0], error
            return
        for line in window:
            yield from _speak(speaker, [line], options)
        return
    for (number, _), speech in zip(window, speeches, strict=True):
        yield number, speech
