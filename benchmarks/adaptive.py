"""Does it pay to give easy sentences fewer flow steps? Adaptive against fixed steps at the same mean number.

python benchmarks/adaptive.py --model build/nano --work build/compress --count 120
"""

import dataclasses
import random
from pathlib import Path

import numpy as np
from common import parser, report, row

from cosylite.lab.compress.adaptive import Measured, compare, measure
from cosylite.lab.compress.source import load_nano


def main() -> None:
    """Measure and report."""
    made = parser(__doc__)
    made.add_argument("--model", type=Path, default=Path("build/nano"))
    made.add_argument("--work", type=Path, default=Path("build/compress"))
    made.add_argument("--count", type=int, default=120, help="sentences; one half to learn from, one to judge on")
    args = made.parse_args()
    source = load_nano(args.model, args.work)
    readings = random.Random(args.seed).sample(source.readings(), args.count)
    path = args.work / f"adaptive-{source.digest}-{args.count}-{args.seed}.npz"
    if not path.is_file():
        measured = measure(source.model(args.threads), readings, seed=args.seed)
        np.savez(path, **dataclasses.asdict(measured))
    with np.load(path) as kept:
        arrays = [kept[name] for name in ("facts", "frames", "errors")]
        found = compare(Measured(*arrays, tuple(kept["steps"].tolist())), args.seed)
    rows = [
        row(
            f"{r.mean_steps:.2f} steps",
            fixed=r.fixed,
            adaptive=r.adaptive,
            oracle=r.oracle,
            gain=1 - r.adaptive / r.fixed,
        )
        for r in found
    ]
    report("adaptive", args, rows)
    wins = sum(r.adaptive < r.fixed for r in found)
    print(f"adaptive steps have the smaller error at {wins} of {len(found)} mean numbers of steps")


if __name__ == "__main__":
    main()
