"""Recipes: what is done to a model, and where. Frozen values read from YAML; unknown keys are refused."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cosylite.errors import InputError
from cosylite.lab.export.graph import Precision
from cosylite.runtime.bundle import NANO_STAGES
from cosylite.runtime.records import record

Method = Literal["fp32", "dynamic", "static"]
Calibrator = Literal["min_max", "percentile", "entropy", "mse"]


@dataclass(frozen=True)
class Training:
    """A run of distillation from the float model.

    Attributes:
        steps: updates of each network.
        frames: padded frames (20 ms) in a batch of the acoustic model; tokens in one of a language model.
        crops: stretches of speech in a batch of the vocoder.
        rate: peak learning rate.
        truth: weight of the training data beside the float model as the target of the flow, 0 to 1.
        save_minutes: minutes between checkpoints; an interrupted run goes on from the last.
    """

    steps: int
    frames: int = 2000
    crops: int = 12
    rate: float = 2e-4
    truth: float = 0.0
    save_minutes: float = 3.0


@dataclass(frozen=True)
class Pruning:
    """Structured pruning: shares of what is removed from every layer, least important first. Tensors become smaller.

    Attributes:
        hidden: units inside blocks and feed-forward networks.
        heads: attention heads.
        width: channels between blocks.
        depth: whole blocks and layers.
        graphs: stages that are pruned.
        importance: size of the weights, or the loss that their removal is estimated to cost (first order, from data).
        multiple: sizes are rounded to multiples of this, which kernels like.
        training: healing; None leaves the wound open.
    """

    hidden: float = 0.0
    heads: float = 0.0
    width: float = 0.0
    depth: float = 0.0
    graphs: tuple[str, ...] = ("text", "flow", "vocoder")
    importance: Literal["magnitude", "taylor"] = "taylor"
    multiple: int = 16
    training: Training | None = None


@dataclass(frozen=True)
class Sparsity:
    """Unstructured pruning: this share of the weights of every chosen layer becomes zero. No kernel here profits."""

    share: float
    layers: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class FewSteps:
    """Fewer flow evaluations.

    Attributes:
        steps: evaluations of the result.
        method: how the student learns; "none" only cuts.
        teacher_steps: evaluations of the float model that the student imitates; a multiple of `steps`.
        training: distillation; needed unless the method is "none".
    """

    steps: int
    method: Literal["average_velocity", "consistency", "none"] = "average_velocity"
    teacher_steps: int = 8
    training: Training | None = None


@dataclass(frozen=True)
class GuidanceRemoval:
    """Teaches the flow of a family model what guidance would have given; then one row is enough."""

    training: Training


@dataclass(frozen=True)
class FakeQuantisation:
    """Training with rounded weights and activations, the float model as teacher.

    Attributes:
        weights: 8 bits, 4 bits, or ternary (-1, 0, 1 times a scale per output).
        activations: one scale per tensor from calibration and then learned ("static"), per row ("dynamic"), or "float".
        layers: where.
        training: the fine-tuning.
    """

    training: Training
    weights: Literal["int8", "int4", "ternary"] = "int8"
    activations: Literal["static", "dynamic", "float"] = "static"
    layers: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class Rule:
    """Products of the layers that match a pattern such as ``flow.stack.*.spread`` are computed by `method`."""

    method: Method
    layers: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class Calibration:
    """How the ranges of static activations are found.

    Attributes:
        method: smallest and largest value, `percentile` of them, least divergence of the histogram, or least squares.
        percentile: of values inside the range, for that method.
        sentences: of the calibration set that are spoken.
    """

    method: Calibrator = "mse"
    percentile: float = 99.99
    sentences: int = 48


@dataclass(frozen=True)
class Selection:
    """Keeps the layers in float that suffer most.

    Attributes:
        mel_distance: largest distance to the float model that is allowed; as few layers as possible are kept.
        sentences: on which it is measured.
        most: share of the layers that may be kept; more is an error.
    """

    mel_distance: float
    sentences: int = 12
    most: float = 0.5


@dataclass(frozen=True)
class Budget:
    """The largest distance to the float model: L1 of log-mels, same durations and noise. Worse is refused."""

    mel_distance: float
    sentences: int = 12


@dataclass(frozen=True)
class Recipe:
    """Everything that happens to a model, in the order of the attributes."""

    name: str
    about: str = ""
    seed: int = 0
    prune: Pruning | None = None
    sparse: Sparsity | None = None
    guidance: GuidanceRemoval | None = None
    steps: FewSteps | None = None
    fake: FakeQuantisation | None = None
    quantise: tuple[Rule, ...] = ()
    calibration: Calibration = Calibration()
    selective: Selection | None = None
    family_precision: Precision = "fp32"
    """What `cosylite convert --precision` takes; only for models of the CosyVoice family."""
    budget: Budget | None = None

    def __post_init__(self) -> None:
        _check(self)

    @property
    def trains(self) -> bool:
        """Whether weights are learned."""
        parts = (self.prune, self.guidance, self.steps, self.fake)
        return any(part is not None and part.training is not None for part in parts)

    def digest(self, *more: str) -> str:
        """Twelve hex digits of everything that changes the weights, and of `more`; rounding comes after them."""
        left_out = ("name", "about", "budget", "quantise", "selective", "family_precision")
        facts = {k: v for k, v in dataclasses.asdict(self).items() if k not in left_out}
        if self.fake is None:
            del facts["calibration"]
        return hashlib.sha256(json.dumps([facts, more], sort_keys=True).encode()).hexdigest()[:12]


def wrong(problem: str, param: str = "recipe") -> InputError:
    """The error for a recipe that cannot be used."""
    return InputError(f"recipe: {problem}", code="bad_recipe", param=param)


def _check(recipe: Recipe) -> None:
    prune, steps = recipe.prune, recipe.steps
    shares = [] if prune is None else [prune.hidden, prune.heads, prune.width, prune.depth]
    trainings = [p.training for p in (prune, recipe.guidance, steps, recipe.fake) if p is not None]
    rules: list[tuple[bool, str]] = [
        (bool(recipe.name) and "/" not in recipe.name, "name must be a plain name"),
        (all(0 <= s < 1 for s in shares), "shares of prune must be from 0 to below 1"),
        (prune is None or any(shares), "prune removes nothing: give hidden, heads, width or depth"),
        (recipe.sparse is None or 0 < recipe.sparse.share < 1, "sparse.share must be between 0 and 1"),
        (steps is None or 1 <= steps.steps <= 32, "steps.steps must be from 1 to 32"),
        (steps is None or steps.method == "none" or steps.training is not None, "steps.training is missing"),
        (
            steps is None or steps.method == "none" or steps.teacher_steps in range(steps.steps, 1000, steps.steps),
            "steps.teacher_steps must be a multiple of steps.steps",
        ),
        (50 < recipe.calibration.percentile <= 100, "calibration.percentile must be above 50 and at most 100"),
        (recipe.calibration.sentences > 0, "calibration.sentences must be above 0"),
        (
            all(t is None or min(t.steps, t.frames, t.crops, t.rate) > 0 for t in trainings),
            "training.steps, frames, crops and rate must be above 0",
        ),
        (all(t is None or 0 <= t.truth <= 1 for t in trainings), "training.truth must be from 0 to 1"),
        (recipe.seed >= 0, "seed must be 0 or above"),
        (prune is None or prune.multiple > 0, "prune.multiple must be above 0"),
        (prune is None or set(prune.graphs) <= set(NANO_STAGES), f"prune.graphs are of {', '.join(NANO_STAGES)}"),
        (
            all(b is None or (b.mel_distance >= 0 and b.sentences > 0) for b in (recipe.budget, recipe.selective)),
            "mel_distance of budget and selective must be 0 or above, sentences above 0",
        ),
        (recipe.selective is None or bool(recipe.quantise), "selective needs quantise"),
    ]
    for holds, problem in rules:
        if not holds:
            raise wrong(problem)


def read_recipe(name: str | Path) -> Recipe:
    """Read a recipe: a YAML file, or the name of one in the folder of recipes.

    Raises:
        InputError: there is none, or it has unknown keys or wrong values.
    """
    import yaml

    path = find_recipe(name)
    try:
        data: Any = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise wrong(f"{path} is not YAML ({' '.join(str(error).split())})") from error
    return parse_recipe(data)


def parse_recipe(data: Any) -> Recipe:
    """A recipe from decoded YAML; raises InputError."""
    return record(Recipe, data, wrong)


def recipes_folder() -> Path:
    """Where the recipes of a clone lie."""
    return Path(__file__).resolve().parents[4] / "recipes" / "compress"


def find_recipe(name: str | Path) -> Path:
    """The file of a recipe; raises InputError, which lists the names."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        if path.is_file():
            return path
        raise InputError(f"there is no recipe file {path}", code="recipe_not_found", param="recipe")
    found = recipes_folder() / f"{name}.yaml"
    if found.is_file() and found.stem == str(name):
        return found
    names = ", ".join(sorted(p.stem for p in recipes_folder().glob("*.yaml"))) or "none"
    raise InputError(
        f"there is no recipe {str(name)!r}; choose one of {names}, or give a .yaml file",
        code="recipe_not_found",
        param="recipe",
    )
