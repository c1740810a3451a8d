"""Recipes: what is read, what is refused, and that every recipe of the repository can be read."""

from pathlib import Path

import pytest

from cosylite.cli import main
from cosylite.errors import InputError
from cosylite.lab.compress.layers import layer_class, pick
from cosylite.lab.compress.recipe import parse_recipe, read_recipe, recipes_folder

LAYERS = ["flow.stack.blocks.0.spread", "flow.stack.blocks.1.spread", "vocoder.leave"]


@pytest.mark.parametrize("path", sorted(recipes_folder().glob("*.yaml")), ids=lambda p: p.stem)
def test_recipes_of_the_repository(path: Path) -> None:
    recipe = read_recipe(path.stem)
    assert recipe.name == path.stem and len(recipe.about) > 20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "a", "quantize": []}, ("'quantize'", "valid:", "quantise", "calibration")),
        ({"name": "a", "quantise": [{"method": "int3"}]}, ("quantise[0].method", "dynamic")),
        ({"name": "a", "quantise": [{"method": "static", "layer": "x"}]}, ("'layer'", "method, layers")),
        ({"name": "a", "prune": {"hidden": 1.5}}, ("shares of prune",)),
        ({"name": "a", "prune": {"multiple": 8}}, ("removes nothing",)),
        ({"name": "a", "steps": {"steps": 2}}, ("steps.training is missing",)),
        ({"name": "a", "steps": {"steps": 3, "method": "consistency", "training": {"steps": 1}}}, ("multiple",)),
        ({"name": "a", "fake": {"training": {"steps": 0}}}, ("training.steps",)),
        ({"name": "a", "selective": {"mel_distance": 0.1}}, ("selective needs quantise",)),
        ({"name": "a", "calibration": {"percentile": 20}}, ("percentile",)),
        ({"name": "a", "family_precision": "int3"}, ("family_precision", "fp32, fp16, int8, int4")),
        ({"name": "a", "prune": {"hidden": 0.2, "multiple": 0}}, ("prune.multiple",)),
        ({"name": "a", "prune": {"hidden": 0.2, "graphs": ["lm"]}}, ("prune.graphs", "text, flow, vocoder")),
        ({"name": "a", "fake": {"training": {"steps": 1, "frames": 0}}}, ("frames", "above 0")),
        ({"name": "a", "fake": {"training": {"steps": 1, "truth": 2}}}, ("training.truth",)),
        ({"name": "a", "steps": {"steps": 2, "teacher_steps": 0, "training": {"steps": 1}}}, ("multiple",)),
        ({"name": "a", "budget": {"mel_distance": float("nan")}}, ("mel_distance",)),
        ({"name": "a", "seed": -1}, ("seed",)),
        ({}, ("'name' is missing",)),
        (None, ("must be an object",)),
    ],
)
def test_wrong_recipes_are_refused(data: object, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        parse_recipe(data)
    assert all(word in str(error.value) for word in words), error.value
    assert error.value.code == "bad_recipe"


def test_an_unknown_name_lists_the_recipes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="int8-static"):
        read_recipe("int7")
    with pytest.raises(InputError, match="no recipe file"):
        read_recipe(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1", "utf-8")
    with pytest.raises(InputError, match="not YAML"):
        read_recipe(tmp_path / "bad.yaml")


def test_filters() -> None:
    assert pick(LAYERS, ["flow.*"]) == set(LAYERS[:2])
    assert pick(LAYERS, ["*.1.*", "*leave"]) == set(LAYERS[1:])
    with pytest.raises(InputError, match=r"'flows.\*' matches nothing.*flow.stack.blocks.spread, vocoder.leave"):
        pick(LAYERS, ["flow.*", "flows.*"])
    assert layer_class(LAYERS[0]) == layer_class(LAYERS[1])


def test_the_digest_sees_what_matters() -> None:
    base = {"name": "a", "prune": {"hidden": 0.2, "training": {"steps": 5}}}
    longer = {"name": "a", "prune": {"hidden": 0.2, "training": {"steps": 6}}}
    described = base | {"about": "words", "budget": {"mel_distance": 1}}
    assert parse_recipe(base).digest() == parse_recipe(described).digest() != parse_recipe(longer).digest()
    assert parse_recipe(base).digest("x") != parse_recipe(base).digest("y")


def test_a_number_of_threads_that_makes_no_sense_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert main(["compress", str(tmp_path), "--recipe", "lm-int4", "-o", out, "--threads", "-1"]) == 2
    assert "threads must be between" in capsys.readouterr().err
