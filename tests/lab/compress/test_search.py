"""Search, adaptive compute, and what is remembered of them."""

from pathlib import Path

import numpy as np
import pytest

from cosylite.errors import BundleError, InputError
from cosylite.lab.compress import compress, read_recipe
from cosylite.lab.compress.adaptive import Measured, allot, compare, measure
from cosylite.lab.compress.nano_run import job_of
from cosylite.lab.compress.recipe import parse_recipe
from cosylite.lab.compress.search import Point, Search, Settings, best, candidate, plot, recipe_of, write_recipe
from cosylite.lab.compress.source import NanoSource
from cosylite.runtime.bundle import load_bundle

pytest.importorskip("optuna")


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_goes_on_and_its_best_point_is_a_recipe(
    work: Path, source: NanoSource, cache: Path, tmp_path: Path
) -> None:
    readings = source.readings()[:2]
    job = job_of(parse_recipe({"name": "plain"}), source, None, cache, lambda _: None)
    networks = {"plain": candidate(job, readings)}
    said: list[str] = []
    settings = Settings(trials=3, threads=(1,), sentences=2)
    Search(source, networks, readings, settings, tmp_path).run(said.append)
    points = Search(source, networks, readings, Settings(4, (1,), sentences=2), tmp_path).run(said.append)
    assert len(said) == 4
    sizes = {p.size_mb for p in points}
    assert min(sizes) < 0.5 * max(sizes) and points[0].mel_distance == pytest.approx(0, abs=1e-6)
    chosen = best(points, 10.0)
    recipe = recipe_of(chosen, networks["plain"])
    write_recipe(recipe, tmp_path / "best.yaml")
    assert read_recipe(tmp_path / "best.yaml") == recipe
    made = compress(work, recipe, tmp_path / "bundle", work=cache)
    assert made["size_mb"] == pytest.approx(chosen.size_mb, rel=0.05)
    assert len(load_bundle(tmp_path / "bundle").manifest.flow.times) == chosen.chosen["steps"] + 1
    plot(points, tmp_path / "frontier.svg")
    assert (tmp_path / "frontier.svg").stat().st_size > 1000


def test_the_best_point_is_the_fastest_within_the_distance() -> None:
    points = [Point({}, 0.01, 0.05, 9.0), Point({}, 0.05, 0.02, 5.0), Point({}, 0.5, 0.01, 3.0)]
    assert best(points, 0.1) is points[1]
    with pytest.raises(BundleError, match=r"closest is at 0\.010"):
        best(points, 0.001)


def test_adaptive_steps_win_where_difficulty_can_be_told() -> None:
    """With errors that the facts explain, the predictor comes near the oracle; with noise as facts it cannot win."""
    rng = np.random.default_rng(0)
    hard = rng.random(200)
    errors = (0.02 + 0.5 * hard**3)[:, None] / np.array([1, 2, 4, 8])
    told = Measured(np.stack([hard, hard**2, hard**3], 1), np.full(200, 100.0), errors, (1, 2, 4, 8))
    mixed = compare(told, targets=(1.5, 2.5, 5.0))
    assert [r.mean_steps for r in mixed] == pytest.approx([1.5, 2.5, 5.0], abs=0.1)
    assert all(r.oracle <= 1.05 * r.adaptive and r.adaptive < 0.9 * r.fixed for r in mixed)
    blind = Measured(rng.normal(size=(200, 3)), told.frames, errors, told.steps)
    assert all(r.adaptive > 0.93 * r.fixed for r in compare(blind))


def test_allotting_weighs_error_against_steps() -> None:
    errors = np.array([[0.1, 0.09], [1.0, 0.2]])
    assert allot(errors, np.ones(2), (1, 2), 0.1).tolist() == [0, 1]
    assert allot(errors, np.ones(2), (1, 2), 2.0).tolist() == [0, 0]


def test_measured_errors_fall_with_steps(source: NanoSource) -> None:
    model = source.model()
    measured = measure(model, source.readings() * 3, steps=(1, 4))
    assert measured.errors.shape == (24, 2) and (measured.errors[:, 1] < measured.errors[:, 0]).mean() > 0.9
    with pytest.raises(InputError, match="at least 20"):
        measure(model, source.readings()[:3])
