"""`cosylite tune`: find the fastest setting for this machine, and remember it."""

import argparse
import sys

from cosylite.cli.engine_options import add_bundle_argument
from cosylite.errors import InputError

_DESCRIPTION = """\
Try engines, threads and numbers of flow steps on this machine, and remember the fastest within a quality budget.

  cosylite tune
  cosylite tune --bundle nano --budget 0.3

From then on the bundle runs in that setting wherever neither a device nor a number of threads is asked for. The budget
is the largest mean difference of log spectra from the bundle's own setting; 0.05 allows other engines and threads only.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "tune",
        help="find and remember the fastest setting of this machine",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_bundle_argument(parser)
    parser.add_argument("--budget", type=float, default=0.05, metavar="DISTANCE", help="default: 0.05")
    parser.add_argument("--dry-run", action="store_true", help="measure and print, remember nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Tune; raises InputError for a bundle that is not nano or a budget below 0."""
    from cosylite.runtime.bundle import family_of, find_bundle, load_bundle
    from cosylite.runtime.sessions import default_threads
    from cosylite.runtime.tuning import Trial, remember, settings_here, table, tune

    if not args.budget >= 0:  # also what is no number
        raise InputError("budget must be 0 or above", code="out_of_range", param="budget")
    folder = find_bundle(args.bundle)
    if family_of(folder) not in ("nano", None):
        raise InputError("tune works with nano bundles", code="unsupported_family", param="bundle")
    bundle = load_bundle(folder)
    trials: list[Trial] = []

    def report(trial: Trial) -> None:
        trials.append(trial)
        if sys.stderr.isatty():
            print(f"\r{len(trials)} of {len(settings)} settings\x1b[K", end="", file=sys.stderr, flush=True)

    settings = settings_here(bundle, default_threads())
    best = tune(bundle, settings, args.budget, report)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(table(trials))
    chosen = best.setting
    print(f"fastest within {args.budget:g}: {chosen.device}, {chosen.threads} threads, {chosen.steps} flow steps")
    if not args.dry_run:
        print(f"remembered in {remember(bundle, best)}")
    return 0
