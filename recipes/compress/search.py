"""Search for the best settings of this machine among the networks of recipes; print and plot the frontier.

    python recipes/compress/search.py --model build/nano --work build/compress --trials 80

Networks are those of the recipes named with `--networks`; what is not trained yet is trained first. The best point
within `--mel-distance` becomes `WORK/search/best.yaml`, a recipe like any other. Resumable.
"""

import argparse
import dataclasses
import json
from pathlib import Path

from cosylite.lab.compress import read_recipe, set_threads
from cosylite.lab.compress.data import sample
from cosylite.lab.compress.nano_run import job_of
from cosylite.lab.compress.search import Search, Settings, best, candidate, engines_here, plot, recipe_of, write_recipe
from cosylite.lab.compress.source import load_nano

NETWORKS = ("fp32", "pruned-20", "pruned-30", "pruned-50", "steps-1", "steps-2", "steps-4", "nano-tiny")


def main() -> None:
    """Search, report, remember."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("build/nano"))
    parser.add_argument("--work", type=Path, default=Path("build/compress"))
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--trials", type=int, default=80)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="+", default=list(engines_here()))
    parser.add_argument("--sentences", type=int, default=6)
    parser.add_argument("--mel-distance", type=float, default=0.12, help="largest distance of the best point")
    parser.add_argument("--training-threads", type=int, default=0)
    parser.add_argument("--plot", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    set_threads(args.training_threads)
    source = load_nano(args.model, args.work)
    readings = source.readings()
    calibration = sample(readings, 32, args.seed)
    jobs = {name: job_of(read_recipe(name), source, None, args.work, print) for name in args.networks}
    networks = {name: candidate(job, calibration) for name, job in jobs.items()}
    settings = Settings(args.trials, tuple(args.threads), tuple(args.engines), args.sentences, args.seed)
    folder = args.work / "search"
    heard = sample(readings, args.sentences, args.seed + 1)
    points = Search(source, networks, heard, settings, folder).run(print)
    print(f"{'distance':>9} {'rtf':>8} {'MB':>6}  network, steps, threads, engine, methods")
    for p in points:
        print(f"{p.mel_distance:9.3f} {p.rtf:8.4f} {p.size_mb:6.1f}  {', '.join(map(str, p.chosen.values()))}")
    (folder / "frontier.json").write_text(json.dumps([dataclasses.asdict(p) for p in points], indent=1))
    plot(points, args.plot or folder / "frontier.svg")
    chosen = best(points, args.mel_distance)
    write_recipe(recipe_of(chosen, networks[chosen.chosen["network"]]), folder / "best.yaml")
    print(f"best within {args.mel_distance:g}: {chosen.chosen}; written to {folder / 'best.yaml'}")


if __name__ == "__main__":
    main()
