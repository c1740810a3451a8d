"""The command line: `cosylite COMMAND ...`.

Every command is a module of this package (`convert-voice` is `convert_voice`) with `add(subparsers)`, which declares
its options and sets `run` as a default, and `run(args) -> int`. To add one, write the module and name it in `COMMANDS`.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cosylite import __version__
from cosylite.errors import CosyliteError, InputError

COMMANDS = (
    "say",
    "phonemes",
    "voices",
    "voice",
    "convert-voice",
    "bundles",
    "pull",
    "convert",
    "compress",
    "tune",
    "info",
    "serve",
)
"""Modules of the commands, in the order of `cosylite --help`."""

_EPILOG = "exit codes: 0 done, 2 input, 3 bundle, 4 device or dependency, 5 reading or writing, 130 interrupted"


class Parser(argparse.ArgumentParser):
    """Reports wrong usage like every other error: one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong as an InputError (code `usage`)."""
        raise InputError(f"{message} (see `{self.prog} --help`)", code="usage")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = Parser(prog="cosylite", description="Text to speech on a CPU, offline.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"cosylite {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"cosylite.cli.{name.replace('-', '_')}").add(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors that cosylite knows become one line on stderr."""
    # The terminal may not know every character of a file name; printing it must not fail.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    try:
        args = build_parser().parse_args(argv)
        code: int = args.run(args)
        if sys.stdout is not None:  # None where it was closed before the start
            sys.stdout.flush()
        return code
    except CosyliteError as error:
        print(f"cosylite: error: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("cosylite: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; keep Python from complaining once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
