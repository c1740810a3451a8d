"""A recipe on nano: networks are changed and trained, exported, quantised, measured, and refused if too far off."""

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from cosylite.errors import BundleError, InputError
from cosylite.lab.compress import ptq
from cosylite.lab.compress.calibrate import Range, no_data
from cosylite.lab.compress.data import manifest_readings, read_manifest, sample, spoken_examples
from cosylite.lab.compress.heal import Lessons, heal
from cosylite.lab.compress.layers import pick
from cosylite.lab.compress.measure import Reference, megabytes, parameters
from cosylite.lab.compress.prune import prune
from cosylite.lab.compress.qat import fine_tune, layer_ranges, sparsify
from cosylite.lab.compress.recipe import Recipe, wrong
from cosylite.lab.compress.session import with_graphs
from cosylite.lab.compress.source import FLOW_STEPS, NanoSource, load_nano, read_graphs, write_float
from cosylite.lab.compress.steps import distil_steps
from cosylite.lab.export.bundle import replace_folder, write_json, write_manifest
from cosylite.lab.export.nano_bundle import NanoNetworks, even_times
from cosylite.lab.nano.dataset import Example
from cosylite.runtime.bundle import MANIFEST, Bundle, load_bundle
from cosylite.runtime.nano import NanoModel, Reading

Report = Callable[[str], None]
_MEASURED_ON = 12
_DONE = "learned.json"


@dataclass(frozen=True)
class Result:
    """The bundle that was written, and what was measured of it."""

    path: Path
    measured: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A recipe on its way."""

    recipe: Recipe
    source: NanoSource
    readings: list[Reading]
    examples: list[Example]
    folder: Path
    report: Report

    def lessons(self) -> Lessons | None:
        """Data to learn from, where there are any."""
        stats = self.source.networks.stats if self.source.networks else None
        return Lessons(self.examples, stats, self.recipe.seed) if stats and self.examples else None


def compress_nano(
    model: Path, recipe: Recipe, output: Path, *, data: Path | None, work: Path, report: Report
) -> Result:
    """Run a recipe; see `cosylite.lab.compress.compress`."""
    if recipe.guidance or recipe.family_precision != "fp32":
        raise wrong("guidance and family_precision are for models of the CosyVoice family; nano has no guidance")
    source = load_nano(model, work)
    _check_layers(recipe, source)
    job = job_of(recipe, source, data, work, report)
    if any(rule.method == "static" for rule in recipe.quantise) and not job.readings:
        raise no_data()
    graphs_at, learned = changed_float(job)
    bundle = load_bundle(graphs_at)
    graphs = read_graphs(graphs_at)
    plan = ptq.Plan({})
    reference = _reference(job)
    sensitivity: dict[str, float] = {}
    if recipe.quantise:
        plan, sensitivity = _plan(job, bundle, graphs, learned, reference)
    small = ptq.apply(graphs, plan)
    times = even_times(recipe.steps.steps) if recipe.steps else list(bundle.manifest.flow.times)
    facts = {**_facts(graphs_at), "flow": {"times": times}, "name": output.resolve().name}
    return _write(job, small, graphs_at, facts, plan, sensitivity, reference, output)


def _check_layers(recipe: Recipe, source: NanoSource) -> None:
    """Refuse filters without a match before anything is trained."""
    graphs = read_graphs(source.graphs)
    ptq.methods_of(graphs, recipe.quantise)
    layers = ptq.layers_of(graphs)
    for part in (recipe.fake, recipe.sparse):
        if part is not None:
            pick(layers, part.layers)
    if source.networks is None and (recipe.trains or recipe.prune or recipe.sparse):
        raise InputError(
            "this recipe changes weights, for which a bundle is not enough: give the work folder of nano's training",
            code="needs_checkpoint",
            param="model",
        )


def job_of(recipe: Recipe, source: NanoSource, data: Path | None, work: Path, report: Report) -> Job:
    """A recipe with its data, and the folder of its training."""
    given = ""
    if data is None:
        readings, examples = source.readings(), source.examples
    else:
        rows = read_manifest(data)
        given = data.read_text("utf-8")
        teacher = source.model()
        readings, examples = manifest_readings(rows, teacher), []
        if recipe.trains or recipe.prune:
            report("the float model speaks the data")
            examples = list(spoken_examples(teacher, readings, recipe.seed))
    folder = work / f"trained-{recipe.digest(source.digest, given)}"
    return Job(recipe, source, readings, examples, folder, report)


def changed_float(job: Job) -> tuple[Path, dict[str, Range]]:
    """A float bundle of the networks after everything but rounding, and learned levels by layer."""
    recipe, networks = job.recipe, job.source.networks
    if networks is None or not (recipe.trains or recipe.prune or recipe.sparse):
        return job.source.graphs, {}
    target, done = job.folder / "float", job.folder / _DONE
    if done.is_file() and target.is_dir():
        return target, {k: Range(*v) for k, v in json.loads(done.read_text("utf-8")).items()}
    job.folder.mkdir(parents=True, exist_ok=True)
    changed, learned = change_networks(job, networks)
    job.report("export")
    write_float(changed, target, even_times(recipe.steps.steps if recipe.steps else FLOW_STEPS))
    done.write_text(json.dumps({k: [v.scale, v.zero] for k, v in learned.items()}), "utf-8")
    return target, learned


def change_networks(job: Job, networks: NanoNetworks) -> tuple[NanoNetworks, dict[str, Range]]:
    """Prune, heal, distil steps, sparsify, train with fake quantisation: whatever the recipe says, in this order."""
    recipe, teacher = job.recipe, networks
    if recipe.prune:
        before = _count(networks)
        networks = prune(networks, recipe.prune, job.lessons())
        job.report(f"pruned to {_count(networks) / before:.1%} of the parameters")
        if recipe.prune.training:
            networks = heal(
                networks, teacher, _needed(job), recipe.prune.training, job.folder, seed=recipe.seed,
                graphs=recipe.prune.graphs,
            )  # fmt: skip
    if recipe.sparse:
        networks = sparsify(networks, recipe.sparse)
    if recipe.steps:
        networks = distil_steps(networks, teacher, recipe.steps, job.lessons(), job.folder, recipe.seed)
    if recipe.fake:
        ranges: dict[str, Range] = {}
        if recipe.fake.activations == "static":
            ranges = layer_ranges(networks, job.source.bundle(), _calibration(job), recipe.calibration, recipe.seed)
        if recipe.steps:  # a flow of few steps can only imitate itself before rounding
            teacher = networks
        return fine_tune(networks, teacher, recipe.fake, ranges, _needed(job), job.folder, recipe.seed)
    return networks, {}


def _plan(
    job: Job,
    bundle: Bundle,
    graphs: Mapping[str, onnx.ModelProto],
    learned: Mapping[str, Range],
    reference: Reference | None,
) -> tuple[ptq.Plan, dict[str, float]]:
    recipe = job.recipe
    methods = ptq.methods_of(graphs, recipe.quantise)
    ranges: ptq.Ranges = {}
    if "static" in methods.values():
        job.report("calibrate")
        model = with_graphs(bundle, graphs)
        ranges = ptq.calibrated(model, graphs, _calibration(job), recipe.calibration, recipe.seed)
    plan = ptq.Plan(methods, ranges, learned)
    if recipe.selective is None:
        return plan, {}
    if reference is None:
        raise no_data()

    def build(changed: Mapping[str, onnx.ModelProto]) -> NanoModel:
        return with_graphs(bundle, changed)

    return ptq.select(graphs, plan, reference, build, recipe.selective)


def _calibration(job: Job) -> list[Reading]:
    return sample(job.readings, job.recipe.calibration.sentences, job.recipe.seed)


def _reference(job: Job) -> Reference | None:
    """What the float model says, to compare with."""
    wanted = job.recipe.budget.sentences if job.recipe.budget else _MEASURED_ON
    if job.recipe.selective:
        wanted = max(wanted, job.recipe.selective.sentences)
    if not job.readings:
        if job.recipe.budget:
            raise InputError(
                "the budget is measured on data: give --data manifest.jsonl", code="no_calibration_data", param="data"
            )
        return None
    return Reference.of(job.source.model(), sample(job.readings, wanted, job.recipe.seed + 1))


def _write(
    job: Job, graphs: Mapping[str, onnx.ModelProto], base: Path, facts: dict[str, Any], plan: ptq.Plan,
    sensitivity: Mapping[str, float], reference: Reference | None, output: Path,
) -> Result:  # fmt: skip
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".bundle-") as scratch:
        folder = Path(scratch) / "bundle"
        folder.mkdir()
        ptq.write(graphs, folder)
        np.save(folder / "voices.npy", load_bundle(base).voice_table())
        whole = write_manifest(folder, facts)
        measured = _measure(job, graphs, plan, sensitivity, reference, folder)
        whole["measured"] = {"compression": measured}
        write_json(folder, whole)
        replace_folder(folder, output)
    return Result(output, measured)


def _measure(
    job: Job, graphs: Mapping[str, onnx.ModelProto], plan: ptq.Plan, sensitivity: Mapping[str, float],
    reference: Reference | None, folder: Path,
) -> dict[str, Any]:  # fmt: skip
    before, after = megabytes(job.source.graphs), megabytes(folder)
    found: dict[str, Any] = {
        "recipe": dataclasses.asdict(job.recipe),
        "model": job.source.digest,
        "float_mb": round(before, 3),
        "size_mb": round(after, 3),
        "ratio": round(before / after, 2),
        "numbers": parameters(list(graphs.values())),
        "layers_float": sorted(set(ptq.layers_of(graphs))) if plan.methods else None,
    }
    if sensitivity:
        found["sensitivity"] = {layer: round(value, 5) for layer, value in sensitivity.items()}
    if reference is not None:
        distance = reference.distance(NanoModel(load_bundle(folder), device="cpu", threads=1))
        found["mel_distance"] = round(distance, 5)
        budget = job.recipe.budget
        if budget and not distance <= budget.mel_distance:
            raise BundleError(
                f"the result is {distance:.3f} from the float model, the budget is {budget.mel_distance:g}: nothing was"
                " written; choose a gentler recipe, train longer, or raise budget.mel_distance",
                code="quality_below_budget",
                param="budget",
            )
    return found


def _facts(folder: Path) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
    return {k: v for k, v in raw.items() if k not in ("format", "revision", "files", "measured")} | {"measured": {}}


def _needed(job: Job) -> Sequence[Example]:
    if not job.examples:
        raise InputError("this recipe learns: give --data manifest.jsonl", code="no_training_data", param="data")
    return job.examples


def _count(networks: NanoNetworks) -> int:
    return sum(p.numel() for model in (networks.acoustic, networks.vocoder) for p in model.parameters())
