"""Search for the best settings of this machine: network, precision per class of layer, flow steps, threads, engine.

Every trial is a model that is built, heard (distance to the float model) and timed here. Networks are the trained
results of recipes, so a trial costs seconds. Three aims at once: distance, real-time factor, size.
"""

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from cosylite.errors import BundleError
from cosylite.lab.compress import ptq
from cosylite.lab.compress.layers import layer_class
from cosylite.lab.compress.measure import Reference, speed
from cosylite.lab.compress.nano_run import Job, changed_float
from cosylite.lab.compress.recipe import Calibration, FewSteps, Method, Recipe, Rule
from cosylite.lab.compress.source import FLOW_STEPS, NanoSource, read_graphs
from cosylite.lab.export.bundle import write_manifest
from cosylite.lab.export.nano_bundle import even_times
from cosylite.runtime import openvino_engine
from cosylite.runtime.bundle import Bundle, load_bundle
from cosylite.runtime.nano import NanoModel, Reading

METHODS: tuple[Method, ...] = ("fp32", "dynamic", "static")


@dataclass(frozen=True)
class Settings:
    """What the search may choose from, and how it measures.

    Attributes:
        trials: in all; those of an earlier run count.
        threads: numbers of threads to try.
        engines: devices to try.
        sentences: on which every trial is heard and timed.
        seed: of the sampler.
    """

    trials: int = 60
    threads: tuple[int, ...] = (1, 2)
    engines: tuple[str, ...] = ("cpu",)
    sentences: int = 6
    seed: int = 0


@dataclass(frozen=True)
class Candidate:
    """A network to choose: the recipe it came from, its float graphs and the ranges of its activations."""

    recipe: Recipe
    bundle: Bundle
    graphs: Mapping[str, onnx.ModelProto]
    ranges: ptq.Ranges

    @property
    def steps(self) -> int:
        """Flow evaluations that the network was made for."""
        return len(self.bundle.manifest.flow.times) - 1


@dataclass(frozen=True)
class Point:
    """A trial: what was chosen, and what it gave."""

    chosen: dict[str, Any]
    mel_distance: float
    rtf: float
    size_mb: float


def engines_here() -> tuple[str, ...]:
    """Engines for processors that are installed."""
    return ("cpu", *openvino_engine.PRECISIONS) if openvino_engine.available() else ("cpu",)


def candidate(job: Job, calibration: Sequence[Reading]) -> Candidate:
    """The network of a recipe, trained if it is not yet."""
    folder, _ = changed_float(job)
    bundle, graphs = load_bundle(folder), read_graphs(folder)
    model = NanoModel(bundle, device="cpu", threads=1)
    ranges = ptq.calibrated(model, graphs, list(calibration), Calibration(), job.recipe.seed)
    return Candidate(job.recipe, bundle, graphs, ranges)


def classes_of(graphs: Mapping[str, onnx.ModelProto]) -> list[str]:
    """Classes of layers, such as ``flow.stack.blocks.spread``; all layers outside the blocks of a graph are one."""
    found = dict.fromkeys(_class(layer) for layer in ptq.layers_of(graphs))
    return list(found)


def _class(layer: str) -> str:
    kind = layer_class(layer)
    return (
        kind if any(part.isdigit() for part in layer.split(".")) and "blocks" in kind else f"{kind.split('.')[0]}.rest"
    )


class Search:
    """Trials over candidates."""

    def __init__(self, source: NanoSource, candidates: Mapping[str, Candidate], readings: Sequence[Reading],
                 settings: Settings, folder: Path) -> None:  # fmt: skip
        self.candidates, self.settings, self.folder = dict(candidates), settings, folder
        self.readings = list(readings)[: settings.sentences]
        self.reference = Reference.of(source.model(), self.readings)
        self.classes = list(dict.fromkeys(c for k in candidates.values() for c in classes_of(k.graphs)))

    def run(self, report: Callable[[str], None]) -> list[Point]:
        """All trials that are not done yet; the frontier of all of them, best distance first."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.folder.mkdir(parents=True, exist_ok=True)
        study = optuna.create_study(
            study_name="cosylite",
            storage=JournalStorage(JournalFileBackend(str(self.folder / "trials.log"))),
            directions=["minimize", "minimize", "minimize"],
            sampler=optuna.samplers.TPESampler(seed=self.settings.seed),
            load_if_exists=True,
        )
        if not study.trials:
            for first in self._first():
                study.enqueue_trial(first)
        done = sum(t.state.is_finished() for t in study.trials)
        study.optimize(
            self._trial, n_trials=max(0, self.settings.trials - done), show_progress_bar=True,
            callbacks=[lambda _, t: report(f"trial {t.number}: {_said(t.values)} {t.params}")],
        )  # fmt: skip
        points = [Point(t.params, *(float(v) for v in t.values)) for t in study.best_trials]
        return sorted(points, key=lambda p: p.mel_distance)

    def _first(self) -> list[dict[str, Any]]:
        """Points that are known to be good starts: everything by one method, for the first network."""
        name = next(iter(self.candidates))
        base = {"network": name, "steps": self.candidates[name].steps, "threads": max(self.settings.threads)}
        return [base | {"engine": "cpu"} | {f"method {c}": m for c in self.classes} for m in METHODS]

    def _trial(self, trial: Any) -> tuple[float, float, float]:
        settings = self.settings
        name = trial.suggest_categorical("network", list(self.candidates))
        chosen = self.candidates[name]
        most = {c.steps for c in self.candidates.values()}
        steps = min(trial.suggest_categorical("steps", sorted(most | {1, 2, FLOW_STEPS})), chosen.steps)
        threads = trial.suggest_categorical("threads", list(settings.threads))
        engine = trial.suggest_categorical("engine", list(settings.engines))
        methods = {c: trial.suggest_categorical(f"method {c}", list(METHODS)) for c in self.classes}
        point = self.measure(name, methods, steps, threads, engine)
        return point.mel_distance, point.rtf, point.size_mb

    def measure(self, name: str, methods: Mapping[str, Method], steps: int, threads: int, engine: str) -> Point:
        """Build a model, hear it and time it."""
        chosen = self.candidates[name]
        plan = ptq.Plan(_by_layer(chosen.graphs, methods), chosen.ranges)
        graphs = ptq.apply(chosen.graphs, plan)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "bundle"
            write_trial(chosen, graphs, steps, folder)
            model = NanoModel(load_bundle(folder), device=engine, threads=threads)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            distance = self.reference.distance(model)
            timed = speed(model, self.readings, repeats=2)
        picked = {"network": name, "steps": steps, "threads": threads, "engine": engine}
        picked |= {f"method {c}": m for c, m in methods.items()}
        return Point(picked, distance, timed.rtf, size)


def _by_layer(graphs: Mapping[str, onnx.ModelProto], methods: Mapping[str, Method]) -> dict[str, Method]:
    found = {layer: methods[_class(layer)] for layer in ptq.layers_of(graphs)}
    return {layer: method for layer, method in found.items() if method != "fp32"}


def write_trial(chosen: Candidate, graphs: Mapping[str, onnx.ModelProto], steps: int, folder: Path) -> None:
    """Write a bundle of changed graphs and that many flow steps."""
    folder.mkdir(parents=True)
    ptq.write(graphs, folder)
    np.save(folder / "voices.npy", chosen.bundle.voice_table())
    raw = json.loads((chosen.bundle.path / "bundle.json").read_text("utf-8"))
    facts = {k: v for k, v in raw.items() if k not in ("format", "revision", "files")}
    write_manifest(folder, facts | {"flow": {"times": even_times(steps)}})


def best(points: Sequence[Point], most_distance: float) -> Point:
    """The fastest point of a frontier within a distance.

    Raises:
        BundleError: there is none.
    """
    near = [p for p in points if p.mel_distance <= most_distance]
    if not near:
        closest = min(points, key=lambda p: p.mel_distance)
        raise BundleError(
            f"no trial is within {most_distance:g} of the float model; the closest is at {closest.mel_distance:.3f}",
            code="quality_below_budget",
            param="mel_distance",
        )
    return min(near, key=lambda p: p.rtf)


def recipe_of(point: Point, chosen: Candidate) -> Recipe:
    """The recipe that makes the bundle of a point."""
    methods = {k.removeprefix("method "): v for k, v in point.chosen.items() if k.startswith("method ")}
    layers: dict[Method, list[str]] = {}
    for layer in ptq.layers_of(chosen.graphs):
        layers.setdefault(methods[_class(layer)], []).append(layer)
    rules = tuple(Rule(method, tuple(names)) for method, names in layers.items() if method != "fp32")
    steps = min(int(point.chosen["steps"]), chosen.steps)
    cut = chosen.recipe.steps if steps == chosen.steps else FewSteps(steps, "none")
    return dataclasses.replace(
        chosen.recipe, name="best", about=f"Found by the search; network of {chosen.recipe.name}.", quantise=rules,
        calibration=Calibration(), selective=None, steps=cut, budget=None,
    )  # fmt: skip


def write_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe as YAML, without what is at its default."""
    import yaml

    def plain(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            pairs = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
            return {f.name: plain(v) for f, v in pairs if f.default is dataclasses.MISSING or v != f.default}
        return [plain(v) for v in value] if isinstance(value, tuple) else value

    path.write_text(yaml.safe_dump(plain(recipe), sort_keys=False, allow_unicode=True), "utf-8")


def plot(points: Sequence[Point], path: Path) -> None:
    """Draw the frontier: distance against real-time factor; the area of a dot is its size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for network in dict.fromkeys(p.chosen["network"] for p in points):
        mine = [p for p in points if p.chosen["network"] == network]
        sizes = [10 * p.size_mb + 10 for p in mine]
        axes.scatter([p.rtf for p in mine], [p.mel_distance for p in mine], s=sizes, alpha=0.6, label=network)
    axes.set_xlabel("real-time factor (lower is faster)")
    axes.set_ylabel("mel distance to float (lower is better)")
    axes.set_xscale("log")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def _said(values: Sequence[float] | None) -> str:
    return "" if values is None else "distance {:.3f}, rtf {:.4f}, {:.1f} MB".format(*values)
