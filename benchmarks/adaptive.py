"""Does it pay to give easy sentences fewer flow steps? Adaptive against fixed steps at the same mean number.

python benchmarks/adaptive.py --model build/nano --work build/compress --count 120
"""

import random
from pathlib import Path

from common import parser, report, row

from cosylite.lab.compress.adaptive import compare, measure
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
    found = compare(measure(source.model(args.threads), readings, seed=args.seed), args.seed)
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
