"""`cosylite say`: text to speech."""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Generator, Iterable
from pathlib import Path

from cosylite.audio.formats import FORMATS
from cosylite.audio.values import AudioChunk
from cosylite.cli.engine_options import (
    add_device_arguments,
    add_family_arguments,
    add_voice_arguments,
    load_tts,
    synthesis_options,
)
from cosylite.cli.outputs import Outputs, open_outputs
from cosylite.cli.progress import Progress
from cosylite.cli.text_input import add_text_arguments, text_pieces
from cosylite.cli.timings import WRITERS, Timings, write_timings
from cosylite.errors import InputError, OutputError

DEFAULT_OUTPUT = "speech.wav"
_WHOLE_PIECES = 32
_DESCRIPTION = """\
Speak a text: Chinese, English, Japanese, Korean or a mixture.

  cosylite say 'Hello，今天天气真不错！'                 writes speech.wav
  cosylite say --file book.txt -o book.mp3 --srt book.srt
  some-program | cosylite say - -o - | aplay             speaks while the program writes
  cosylite say --file lines.txt --lines --out-dir clips  one file per line
  cosylite say 'Good morning.' --play

Interrupting with Ctrl-C leaves a playable file with what was made so far.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "say",
        help="speak a text to a file, a pipe or the loudspeaker",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_text_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"audio file, its extension chooses the format; - for standard output (default: {DEFAULT_OUTPUT}, or "
        "none with --play)",
    )
    output.add_argument("--format", choices=tuple(FORMATS), help="audio format, whatever the extension is")
    output.add_argument("--play", action="store_true", help="play with a player that is installed")
    for kind in WRITERS:
        output.add_argument(f"--{kind}", type=Path, metavar="FILE", help=f"write times as {kind.upper()}")
    output.add_argument("--lines", action="store_true", help="one audio file per line of the text, made together")
    output.add_argument("--out-dir", type=Path, metavar="DIR", help="folder for --lines")
    output.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_voice_arguments(parser.add_argument_group("voice"))
    add_family_arguments(parser.add_argument_group("CosyVoice bundles"))
    add_device_arguments(parser.add_argument_group("model"))
    parser.add_argument(
        "--chunk-frames", type=int, metavar="N", help="frames of 20 ms to compute at a time (default: few, then more)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Speak.

    Raises:
        CosyliteError: bad input, bundle, device or output.
    """
    if args.lines or args.out_dir is not None:
        from cosylite.cli.lines import say_lines

        return say_lines(args)
    return _say(args)


def _say(args: argparse.Namespace) -> int:
    options = synthesis_options(args)
    path = args.output if args.output is not None or args.play else DEFAULT_OUTPUT
    if path == "":
        raise InputError("--output needs a file name, or - for standard output", code="usage", param="output")
    text = _text(args)
    _check_folders(args)
    tts = load_tts(args)
    outputs, timings = open_outputs(path, args.format, tts.sample_rate, play=args.play), Timings()
    stream = tts.speaker.stream(text, options, args.chunk_frames)
    start = time.perf_counter()
    progress = Progress(_size(args), quiet=args.quiet)
    try:
        with outputs:
            first = _pump(stream, outputs, timings, progress, start)
    except KeyboardInterrupt:
        progress.close()
        _write_all_timings(args, timings)
        where = f"{path} holds" if path not in (None, "-") else "spoken were"
        print(f"cosylite: interrupted: {where} the first {timings.seconds:.1f} s", file=sys.stderr)
        return 130
    finally:
        progress.close()
        stream.close()
    _write_all_timings(args, timings)
    if not args.quiet:
        _report(path, timings, time.perf_counter() - start, first)
    return 0


def _text(args: argparse.Namespace) -> str | Iterable[str]:
    """The text: whole where it is at hand and no book, else as it comes in.

    Raises:
        InputError: no text or two are given, or it is not UTF-8.
        OutputError: the file cannot be read.
    """
    pieces = text_pieces(args)
    if args.text == "-" and args.file is None:
        return pieces
    taken = []
    for piece in pieces:
        taken.append(piece)
        if len(taken) >= _WHOLE_PIECES:
            return itertools.chain(taken, pieces)
    return "".join(taken)


def _pump(
    stream: Generator[AudioChunk, None, None], outputs: Outputs, timings: Timings, progress: Progress, start: float
) -> float:
    """Send every chunk on; returns the seconds to the first."""
    first = 0.0
    spoken = 0
    for chunk in stream:
        first = first or time.perf_counter() - start
        outputs.write(chunk.samples)
        timings.add(chunk)
        spoken += sum(len(sentence.text.encode("utf-8", "replace")) for sentence in chunk.sentences)
        progress.update(spoken, timings.seconds)
    return first


def _size(args: argparse.Namespace) -> int | None:
    """Bytes of text to be spoken, where that is known."""
    if args.file is not None:
        try:
            return int(args.file.stat().st_size) or None
        except OSError:
            return None
    return None if args.text == "-" else len(args.text.encode("utf-8", "replace"))


def _check_folders(args: argparse.Namespace) -> None:
    """Find out before a long text is spoken that its times could not be written.

    Raises:
        OutputError: a folder is missing or not writable.
    """
    for kind in WRITERS:
        target = getattr(args, kind)
        if target is None:
            continue
        if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
            reason = "it is a folder" if target.is_dir() else "its folder is missing or may not be written to"
            raise OutputError(f"cannot write {target}: {reason}", code="cannot_write", param=kind)


def _write_all_timings(args: argparse.Namespace, timings: Timings) -> None:
    for kind in WRITERS:
        target = getattr(args, kind)
        if target is not None:
            write_timings(target, kind, timings)


def _report(path: str | None, timings: Timings, elapsed: float, first: float) -> None:
    where = {None: "played", "-": "standard output"}.get(path, path)
    faster = timings.seconds / elapsed if elapsed else 0.0
    print(
        f"{where}: {timings.seconds:.2f} s of audio, made in {elapsed:.2f} s"
        f" ({faster:.0f} times faster than real time, first sound after {first * 1000:.0f} ms)",
        file=sys.stderr if path == "-" else sys.stdout,
    )
