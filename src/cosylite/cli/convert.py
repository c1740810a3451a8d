"""`cosylite convert`: an official checkpoint to a bundle."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cosylite.errors import DeviceError, InputError

if TYPE_CHECKING:
    from cosylite.lab.export.family_check import Difference

    Export = Callable[[Path, Path, str, str, bool], dict[str, Difference]]

PRECISIONS = ("fp32", "fp16", "int8", "int4")
_DESCRIPTION = """\
Convert the folder of a CosyVoice model, as released, to a bundle that runs without PyTorch.

  cosylite convert CosyVoice-300M-SFT -o sft --precision int8

Every stage of the bundle is compared with PyTorch; the differences are printed and written into the bundle.
Needs the extras [lab] and [family].
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "convert",
        help="convert an official CosyVoice model to a bundle",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="DIR", help="folder of the model, or the name of one that was pulled")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="BUNDLE", help="folder of the bundle; a bundle is replaced"
    )
    parser.add_argument(
        "--precision",
        default="fp32",
        metavar="KIND",
        help=f"of the weights: {', '.join(PRECISIONS)} (default: fp32)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert.

    Raises:
        InputError: a precision that does not exist.
        DeviceError: the extra [lab] is not installed.
        BundleError: the checkpoint cannot be used, or the bundle does not agree with it.
        OutputError: the bundle cannot be written.
    """
    if args.precision not in PRECISIONS:
        raise InputError(
            f"there is no conversion to {args.precision!r}; choose one of {', '.join(PRECISIONS)}",
            code="unsupported_precision",
            param="precision",
        )
    from cosylite.hub import find_model

    found = _exporter()(find_model(args.model), args.output, args.output.resolve().name, args.precision, args.quiet)
    if not args.quiet:
        print(f"{args.output}: {_megabytes(args.output):.1f} MB in {args.precision}")
        print(f"{'stage':<12}{'largest difference':>20}{'relative':>12}")
        for stage, difference in found.items():
            print(f"{stage:<12}{difference.largest:>20.1e}{difference.relative:>12.1e}")
    return 0


def _exporter() -> "Export":
    """The part of the lab that this needs; raises DeviceError where a package is missing."""
    try:
        from cosylite.lab.checkpoints import load_checkpoint
        from cosylite.lab.export.family import check_target, export_family
        from cosylite.lab.export.graph import Precision
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("cosylite"):
            raise
        raise DeviceError(
            f"converting needs {error.name}; install cosylite[lab] and cosylite[family]",
            code="missing_dependency",
            param=error.name,
        ) from error

    known: dict[str, Precision] = {"fp32": "fp32", "fp16": "fp16", "int8": "int8", "int4": "int4"}

    def export(source: Path, target: Path, name: str, precision: str, quiet: bool) -> "dict[str, Difference]":
        def report(step: str) -> None:
            if not quiet:
                print(step, file=sys.stderr, flush=True)

        check_target(target)
        report(f"read {source}")
        checkpoint = load_checkpoint(source)
        return export_family(checkpoint, target, name=name, precision=known[precision], report=report)

    return export


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*")) / 1e6
