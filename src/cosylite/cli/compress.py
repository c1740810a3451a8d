"""`cosylite compress`: a model to a smaller and faster bundle, by a recipe."""

import argparse
import sys
from pathlib import Path
from typing import Any

from cosylite.errors import DeviceError

_DESCRIPTION = """\
Make a model smaller and faster, and measure what that costs.

  cosylite compress build/nano --recipe int8-static -o nano-static
  cosylite compress CosyVoice2-0.5B --recipe lm-int4 -o cosyvoice2-int4

MODEL is the work folder of nano's training, a CosyVoice checkpoint, or a bundle in float32. Recipes are YAML files; the
names are those in recipes/compress. Long recipes go on where they were interrupted. Needs the extra [lab].
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "compress",
        help="make a model smaller and faster by a recipe",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder of the model")
    parser.add_argument("--recipe", required=True, metavar="NAME", help="name of a recipe, or a .yaml file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="BUNDLE", help="folder of the bundle; a bundle is replaced"
    )
    parser.add_argument("--data", type=Path, metavar="JSONL", help="text, voice, ... to calibrate and train on")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("build/compress"),
        metavar="DIR",
        help="where unfinished training and exports are kept (default: build/compress)",
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads of training (default: all)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compress; raises what `cosylite.lab.compress.compress` raises, and DeviceError without the extra [lab]."""
    try:
        from cosylite.lab.compress import compress, set_threads
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("cosylite"):
            raise
        raise DeviceError(
            f"compressing needs {error.name}; install cosylite[lab] and cosylite[family]",
            code="missing_dependency",
            param=error.name,
        ) from error

    def report(step: str) -> None:
        if not args.quiet:
            print(step, file=sys.stderr, flush=True)

    set_threads(args.threads)
    measured = compress(args.model, args.recipe, args.output, data=args.data, work=args.work, report=report)
    if not args.quiet:
        print(f"{args.output}: {', '.join(_facts(measured))}")
    return 0


def _facts(measured: dict[str, Any]) -> list[str]:
    found = [f"{measured['size_mb']:.1f} MB"]
    if "ratio" in measured:
        found.append(f"{measured['ratio']:g} times smaller than float")
    if "mel_distance" in measured:
        found.append(f"mel distance to float {measured['mel_distance']:.3f}")
    return found
