"""`cosylite pull`: fetch a model."""

import argparse
import sys

HUBS = ("huggingface", "modelscope")
_DESCRIPTION = """\
Fetch a model into the cache. Pulling again continues where it ended, and checks what is there.

  cosylite pull CosyVoice-300M-SFT
  cosylite convert CosyVoice-300M-SFT -o sft --precision int8

Official models: CosyVoice-300M, CosyVoice-300M-SFT, CosyVoice-300M-Instruct, CosyVoice2-0.5B, Fun-CosyVoice3-0.5B.
COSYLITE_HUB_URL names a mirror of the hub, COSYLITE_CACHE_DIR another cache folder.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "pull",
        help="fetch a model from the Hugging Face hub or ModelScope",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="an official model, or OWNER/NAME on the hub")
    parser.add_argument("--hub", choices=HUBS, default=HUBS[0], help=f"where from (default: {HUBS[0]})")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but the folder and errors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fetch.

    Raises:
        CosyliteError: unknown name, no such model, wrong checksum, no network, or no space.
    """
    from cosylite.hub import pull
    from cosylite.runtime.bundle import MANIFEST

    meter = _Meter(quiet=args.quiet)
    try:
        folder = pull(args.name, args.hub, meter.update)
    finally:
        meter.close()
    print(folder)
    if not args.quiet:
        kind = f"say 'Hello.' --bundle {folder.name}" if (folder / MANIFEST).exists() else f"convert {folder} -o BUNDLE"
        print(f"next: cosylite {kind}", file=sys.stderr)
    return 0


class _Meter:
    """On a terminal one line that moves; elsewhere a line per file."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._moving = quiet, sys.stderr.isatty()
        self._file, self._percent = "", -1

    def update(self, file: str, done: int, total: int) -> None:
        """`done` of `total` bytes are here; `file` is under way."""
        percent = 100 * done // max(total, 1)
        if self._quiet or (file == self._file and (percent == self._percent or not self._moving)):
            return
        line = f"{percent:3d}% of {total / 1e6:.1f} MB  {file}"
        sys.stderr.write(f"\r{line}\x1b[K" if self._moving else f"{line}\n")
        sys.stderr.flush()
        self._file, self._percent = file, percent

    def close(self) -> None:
        """End the moving line."""
        if self._file and self._moving:
            sys.stderr.write("\n")
