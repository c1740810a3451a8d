"""What every compression recipe gives: size, speed, memory and quality, on sentences that were never trained on.

    python benchmarks/compression.py --model build/nano --work build/compress --threads 2 --json compression.json

Every row is made by its recipe, measured in a process of its own and judged by Whisper, DNSMOS and DistillMOS; what is
finished is kept in `--work` and not done again. Text processing, which is the same in every row, is not included in
times and memory. Speed-ups are against the float model in PyTorch; the mel distance is the mean absolute difference of
log-mels from the float model, with its durations and noise.
"""

import argparse
import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, report, row
from compression_worker import VERSION
from tqdm import tqdm

from cosylite.errors import BundleError
from cosylite.lab.compress import compress, read_recipe, set_threads
from cosylite.lab.compress.measure import Reference, megabytes
from cosylite.lab.compress.recipe import Recipe
from cosylite.lab.compress.source import NanoSource, load_nano
from cosylite.lab.evaluate.naturalness import distillmos, dnsmos
from cosylite.lab.evaluate.recogniser import Recogniser, error_rate, fetch_whisper
from cosylite.runtime.bundle import find_bundle, load_bundle
from cosylite.runtime.nano import NanoModel, Reading
from cosylite.text.frontend import Frontend, symbol_sequence

RECIPES = (
    "int8-dynamic", "int8-static", "int8-selective", "int8-qat", "pruned-20", "pruned-30", "pruned-50", "steps-1",
    "steps-2", "steps-2-consistency", "steps-4", "nano-tiny", "sparse-50", "ternary",
)  # fmt: skip
TORCH, ONNX, BEST, SHIPPED = "float PyTorch", "float ONNX", "best of search", "shipped"
ROWS = (TORCH, ONNX, *RECIPES, BEST, SHIPPED)
SAMPLE_RATE = 24_000
MOST_ERROR, MOST_DNSMOS = 0.005, 0.05
"""Losses against float that the shipped model may have."""


def arguments() -> argparse.Namespace:
    """Command line."""
    made = parser(__doc__)
    made.add_argument("--model", type=Path, default=Path("build/nano"), help="work folder of nano's training")
    made.add_argument("--work", type=Path, default=Path("build/compress"), help="where rows are kept")
    made.add_argument("--judges", type=Path, default=Path("build/nano/whisper"), help="where Whisper lies or is put")
    made.add_argument("--sentences", type=Path, default=Path(__file__).parent / "sentences" / "compression.json")
    made.add_argument("--per-language", type=int, default=None, help="only the first N sentences of each language")
    made.add_argument("--rows", nargs="+", default=list(ROWS), help=f"of {', '.join(ROWS)}, or names of recipes")
    made.add_argument("--repeats", type=int, default=3, help="runs of every sentence; the best counts")
    made.add_argument("--no-judges", action="store_true", help="speed, size, memory and mel distance only")
    made.add_argument("--training-threads", type=int, default=0)
    made.add_argument("--plot", type=Path, default=None, help="draw quality against speed and size to this file")
    return made.parse_args()


def cases_of(args: argparse.Namespace) -> list[dict[str, str]]:
    """The sentences."""
    taken: dict[str, int] = {}
    chosen = []
    for case in json.loads(args.sentences.read_text("utf-8")):
        taken[case["lang"]] = taken.get(case["lang"], 0) + 1
        if args.per_language is None or taken[case["lang"]] <= args.per_language:
            chosen.append(case)
    return chosen


def readings_of(cases: list[dict[str, str]], model: NanoModel) -> list[Reading]:
    """What the frontend makes of the sentences; each is one sentence."""
    frontend, voices = Frontend(), {v.name: v.row for v in model.bundle.manifest.voices.list}
    found = []
    for case in cases:
        parts = frontend.analyse(case["text"], lang=case["lang"])
        symbols = " ".join("".join(s for s, _ in symbol_sequence(part)) for part in parts)
        found.append(Reading(f" {symbols.strip()} ", voices[case["voice"]]))
    return found


class Rows:
    """Makes, measures and judges rows; every finished part is kept in a file."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.folder = args, args.work / "rows"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.source: NanoSource = load_nano(args.model, args.work)
        self.cases = cases_of(args)
        self.readings = readings_of(self.cases, self.source.model())
        self._reference: Reference | None = None
        self._ears: Recogniser | None = None

    def reference(self) -> Reference:
        """What the float model says."""
        if self._reference is None:
            self._reference = Reference.of(self.source.model(self.args.threads), self.readings, self.args.seed)
        return self._reference

    def bundle_of(self, name: str) -> tuple[Path, Recipe | None] | None:
        """The bundle of a row, made if it must be, and its recipe; None where there is none."""
        if name in (TORCH, ONNX):
            return self.source.graphs, None
        if name == SHIPPED:
            return find_bundle(self.args.bundle), None
        if name == BEST:
            path = self.args.work / "search" / "best.yaml"
            if not path.is_file():
                print(f"{BEST}: no {path}; run recipes/compress/search.py first", flush=True)
                return None
            recipe = read_recipe(path)
        else:
            recipe = read_recipe(name)
        target = self.folder / name.replace(" ", "-")
        made_for = hashlib.sha256(f"{recipe}{self.source.digest}".encode()).hexdigest()
        mark = target.with_suffix(".made")
        if not target.is_dir() or not mark.is_file() or mark.read_text() != made_for:
            relaxed = dataclasses.replace(recipe, budget=None)  # the table shows what a budget would refuse
            try:
                compress(self.args.model, relaxed, target, work=self.args.work, report=print)
            except BundleError as error:
                print(f"{name}: {error}", flush=True)
                return None
            mark.write_text(made_for)
        return target, recipe

    def row(self, name: str) -> dict[str, Any] | None:
        """All figures of a row."""
        found = self.bundle_of(name)
        if found is None:
            return None
        bundle, recipe = found
        texts = hashlib.sha256(json.dumps([(r.symbols, r.voice) for r in self.readings]).encode()).hexdigest()[:8]
        key = f"{load_bundle(bundle).manifest.revision}-{texts}-{self.args.seed}-{VERSION}"
        path = self.folder / f"{name.replace(' ', '-')}.json"
        kept = json.loads(path.read_text()) if path.is_file() else {}
        if kept.get("key") != key:
            kept = {"key": key}
        speed_key = f"speed {self.args.threads}"
        samples = self.folder / "samples.npz"
        judged = self.args.no_judges or "quality" in kept
        if speed_key not in kept or not judged:
            spoken = self._speak(name, bundle, samples)
            kept.setdefault(speed_key, spoken)
        if "mel_l1" not in kept:
            own = name == TORCH
            kept["mel_l1"] = 0.0 if own else self.reference().distance(NanoModel(load_bundle(bundle), device="cpu"))
        if not judged:
            kept["quality"] = self._judge(name, samples)
        path.write_text(json.dumps(kept, ensure_ascii=False, indent=1))
        quality = kept.get("quality") or {}
        return row(
            name,
            training=None if recipe is None else "yes" if recipe.trains else "no",
            size_mb=megabytes(bundle),
            ratio=megabytes(self.source.graphs) / megabytes(bundle),
            mel_l1=kept["mel_l1"],
            **kept[speed_key],
            **{k: v for k, v in quality.items() if k != "sentences"},
        )

    def _speak(self, name: str, bundle: Path, samples: Path) -> dict[str, Any]:
        """Speed and memory, measured in a fresh process that also writes what it says."""
        order = {
            "bundle": str(bundle),
            "networks": str(self.args.model) if name == TORCH else None,
            "work": str(self.args.work),
            "threads": self.args.threads,
            "seed": self.args.seed,
            "repeats": self.args.repeats,
            "readings": [[r.symbols, r.voice] for r in self.readings],
            "samples": str(samples),
        }
        worker = Path(__file__).parent / "compression_worker.py"
        done = subprocess.run(
            [sys.executable, str(worker)], input=json.dumps(order), capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{name}: the measuring process failed:\n{done.stderr[-2000:]}")
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result

    def _judge(self, name: str, samples: Path) -> dict[str, Any]:
        if self._ears is None:
            fetch_whisper(self.args.judges)
            self._ears = Recogniser(self.args.judges, self.args.threads)
        found: list[dict[str, Any]] = []
        with np.load(samples) as spoken:
            for i, case in enumerate(tqdm(self.cases, desc=name, mininterval=5)):
                said = spoken[str(i)]
                heard = self._ears.transcribe(said, SAMPLE_RATE, case["lang"])
                found.append(
                    {
                        "id": case["id"],
                        "lang": case["lang"],
                        "heard": heard,
                        "error_rate": error_rate(case["text"], heard, case["lang"]),
                        "dnsmos": dnsmos(said, SAMPLE_RATE),
                        "distillmos": distillmos(said, SAMPLE_RATE),
                    }
                )
        columns = ("error_rate", "dnsmos", "distillmos")
        means: dict[str, Any] = {k: float(np.mean([f[k] for f in found])) for k in columns}
        for lang in dict.fromkeys(case["lang"] for case in self.cases):
            means[f"error_{lang}"] = float(np.mean([f["error_rate"] for f in found if f["lang"] == lang]))
        return means | {"error_unit": "zh characters, en words, ja kana, ko jamo", "sentences": found}


def compare(rows: list[dict[str, Any]]) -> None:
    """Add speed-ups and changes against float, in place."""
    by_name = {r["name"]: r for r in rows}
    torch, onnx = by_name.get(TORCH), by_name.get(ONNX)
    base = torch or onnx
    for r in rows:
        r["speedup"] = torch["rtf"] / r["rtf"] if torch else None
        r["speedup_onnx"] = onnx["rtf"] / r["rtf"] if onnx else None
        if base and base["error_rate"] is not None and r["error_rate"] is not None:
            r["error_change"] = r["error_rate"] - base["error_rate"]
            r["dnsmos_change"] = r["dnsmos"] - base["dnsmos"]


def verdict(rows: list[dict[str, Any]]) -> None:
    """Print which row is the fastest that loses next to nothing."""
    good = [
        r for r in rows
        if r["name"] not in (TORCH, ONNX, SHIPPED) and r.get("error_change") is not None
        and r["error_change"] <= MOST_ERROR and r["dnsmos_change"] >= -MOST_DNSMOS
    ]  # fmt: skip
    if not good:
        print(f"no row is within {MOST_ERROR:.1%} errors and {MOST_DNSMOS} DNSMOS of float")
        return
    best = min(good, key=lambda r: r["rtf"])
    torch = next((r for r in rows if r["name"] == TORCH), None)
    less = f", {1 - best['peak_rss_mb'] / torch['peak_rss_mb']:.0%} less memory" if torch else ""
    print(
        f"fastest within {MOST_ERROR:.1%} errors and {MOST_DNSMOS} DNSMOS of float: {best['name']}, "
        f"{best['speedup'] or 0:.2f} times float PyTorch, {best['speedup_onnx'] or 0:.2f} times float ONNX, "
        f"{best['ratio']:.2f} times smaller{less}"
    )


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Mel distance, or DNSMOS where judged, against real-time factor; the area of a dot is its size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    judged = all(r["dnsmos"] is not None for r in rows)
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for r in rows:
        height = r["dnsmos"] if judged else r["mel_l1"]
        axes.scatter(r["rtf"], height, s=8 * r["size_mb"] + 10, alpha=0.6)
        axes.annotate(r["name"], (r["rtf"], height), textcoords="offset points", xytext=(6, 4), fontsize=8)
    axes.set_xlabel("real-time factor (lower is faster)")
    axes.set_ylabel("DNSMOS" if judged else "mel distance to float")
    axes.set_xscale("log")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Make, measure, report."""
    args = arguments()
    set_threads(args.training_threads)
    made = Rows(args)
    rows = [found for name in args.rows if (found := made.row(name)) is not None]
    compare(rows)
    report("compression", args, rows)
    verdict(rows)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
