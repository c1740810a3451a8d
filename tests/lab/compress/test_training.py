"""Recipes that change weights: pruning, fewer steps, fake quantisation, sparsity; resuming and equal seeds."""

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.errors import InputError
from cosylite.lab.compress import compress
from cosylite.lab.compress.calibrate import Range
from cosylite.lab.compress.dimensions import acoustic_dimensions, cut, vocoder_dimensions
from cosylite.lab.compress.fake import FakeQuantLinear, insert, remove
from cosylite.lab.compress.heal import Lessons, acoustic_losses, heal, vocoder_losses
from cosylite.lab.compress.prune import kept_units, prune
from cosylite.lab.compress.qat import parts_of, sparsify
from cosylite.lab.compress.recipe import FewSteps, Pruning, Sparsity, Training, parse_recipe
from cosylite.lab.compress.source import NanoSource, read_graphs
from cosylite.lab.compress.steps import average_velocity, consistency, distil_steps, walk
from cosylite.lab.compress.train import train
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.runtime.bundle import load_bundle
from cosylite.runtime.nano import NanoModel

SHORT = Training(steps=3, frames=400, crops=2, rate=1e-3)


@pytest.fixture(scope="module")
def networks(source: NanoSource) -> NanoNetworks:
    assert source.networks is not None
    return source.networks


@pytest.fixture(scope="module")
def lessons(source: NanoSource, networks: NanoNetworks) -> Lessons:
    return Lessons(source.examples, networks.stats, 0)


def test_every_weight_of_a_dimension_is_known(networks: NanoNetworks) -> None:
    """Silencing units and removing them is the same for every dimension whose output a zero weight silences."""
    torch.manual_seed(1)
    for model, dimensions in (
        (networks.acoustic, list(acoustic_dimensions(networks.acoustic))),
        (networks.vocoder, list(vocoder_dimensions(networks.vocoder))),
    ):
        used = {use.tensor for d in dimensions for use in d.uses}
        fixed = {"voices.weight", "encoder.voice_in.weight", "decoder.leave.bias", "decoder.guess.2.bias", "leave.bias"}
        left = {n for n, _ in model.named_parameters()} - used - fixed
        assert left <= {"encoder.duration.2.bias"}, left


def test_cutting_silent_units_changes_nothing(networks: NanoNetworks, lessons: Lessons) -> None:
    model = copy.deepcopy(networks.acoustic)
    weights = model.state_dict()
    chosen = {
        d: torch.arange(0, d.size, 2) for d in acoustic_dimensions(model) if d.kind in ("hidden", "heads", "inner")
    }
    for dimension in chosen:
        last = dimension.uses[-1]  # what reads the units
        silent = last.index(torch.arange(1, dimension.size, 2), dimension.size, weights[last.tensor].shape[last.axis])
        if last.tensor.endswith("time.2.weight"):
            assert last.axis == 1
        weights[last.tensor] = weights[last.tensor].index_fill(last.axis, silent, 0.0)
    model.load_state_dict(weights)
    half = dataclasses.replace(
        model.config, encoder_hidden=32, encoder_conv_hidden=32, encoder_heads=2, encoder_head_size=8, decoder_hidden=32
    )
    small = cut(weights, chosen)
    sizes = {n: small[n].shape for n in ("decoder.guess.0.weight", "encoder.layers.0.qkv.weight")}
    assert sizes["decoder.guess.0.weight"][0] == 24 and sizes["encoder.layers.0.qkv.weight"][0] == 48
    result = type(model)(half)
    inner = {n: v for n, v in small.items() if not n.startswith(("decoder.guess", "decoder.time", "encoder.duration"))}
    tied = {n: v for n, v in weights.items() if n.startswith(("decoder.guess", "decoder.time", "encoder.duration"))}
    result.load_state_dict(inner | tied)
    batch = lessons.acoustic(0, 400)
    torch.manual_seed(0)
    with torch.no_grad():
        losses = acoustic_losses(result.eval(), model.eval(), batch, 0.0)
    assert all(float(value) < 1e-3 for value in losses.values()), losses


def test_pruned_tensors_are_smaller_and_the_networks_run(networks: NanoNetworks, lessons: Lessons) -> None:
    how = Pruning(hidden=0.5, heads=0.5, width=0.25, depth=0.5, multiple=8)
    small = prune(networks, how, lessons)
    acoustic, vocoder = small.acoustic.config, small.vocoder.config
    assert (acoustic.encoder_width, acoustic.encoder_heads, acoustic.encoder_head_size) == (24, 2, 8)
    assert (acoustic.decoder_width, acoustic.decoder_hidden, len(acoustic.decoder_dilations)) == (32, 32, 1)
    assert (vocoder.width, vocoder.hidden, len(vocoder.hop_dilations)) == (82, 32, 1)
    assert small.acoustic.decoder.stack.blocks[0].spread.weight.shape == (32, 96)
    assert _count(small) < 0.7 * _count(networks)
    batch = lessons.acoustic(0, 400)
    assert all(torch.isfinite(v) for v in acoustic_losses(small.acoustic, networks.acoustic, batch, 0.5).values())


def test_important_units_stay() -> None:
    assert kept_units(torch.tensor([0.1, 5.0, 0.2, 4.0]), 0.5, 1).tolist() == [1, 3]
    assert len(kept_units(torch.rand(64), 0.3, 16)) == 48
    assert len(kept_units(torch.rand(90), 0.9, 8, least=82)) == 82


def test_units_that_do_nothing_are_pruned_first(networks: NanoNetworks, lessons: Lessons) -> None:
    model = copy.deepcopy(networks)
    gather = model.acoustic.decoder.stack.blocks[0].gather
    with torch.no_grad():
        gather.weight[:, ::2] = 0.0
        model.acoustic.decoder.stack.blocks[0].spread.weight[::2] = 0.0
    for importance in ("taylor", "magnitude"):
        small = prune(model, Pruning(hidden=0.5, graphs=("flow",), importance=importance, multiple=8), lessons)
        torch.testing.assert_close(small.acoustic.decoder.stack.blocks[0].gather.weight, gather.weight[:, 1::2])


def test_healing_helps(networks: NanoNetworks, source: NanoSource, lessons: Lessons, tmp_path: Path) -> None:
    wounded = prune(networks, Pruning(hidden=0.5, importance="magnitude", multiple=8), None)
    how = Training(steps=30, frames=400, crops=2, rate=1e-3)
    healed = heal(wounded, networks, source.examples, how, tmp_path, seed=0)

    def error(model: NanoNetworks) -> tuple[float, float]:
        torch.manual_seed(9)
        with torch.no_grad():
            flow = acoustic_losses(model.acoustic.eval(), networks.acoustic, lessons.acoustic(50, 400), 0.0)
            wave = vocoder_losses(model.vocoder, networks.vocoder, lessons.crops(50, 2, 3))
        return sum(map(float, flow.values())), float(wave["spectrum"])

    assert all(after < before for after, before in zip(error(healed), error(wounded), strict=True))


def test_training_resumes_to_equal_weights(networks: NanoNetworks, lessons: Lessons, tmp_path: Path) -> None:
    how = dataclasses.replace(SHORT, steps=4)

    class Killed(Exception):
        pass

    def run(name: str, stop: int | None) -> dict[str, torch.Tensor]:
        student = copy.deepcopy(networks.vocoder)

        def losses(step: int) -> dict[str, torch.Tensor]:
            if step == stop:
                raise Killed
            return vocoder_losses(student, networks.vocoder, lessons.crops(step, 2, 3))

        often = dataclasses.replace(how, save_minutes=0.0)
        return train("test", student, losses, often, tmp_path / f"{name}.pt", seed=0).state_dict()

    with torch.no_grad():  # so that there is something to learn
        networks = copy.deepcopy(networks)
    whole = run("whole", None)
    with pytest.raises(Killed):
        run("parts", 2)
    parts = run("parts", None)
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_fake_layers_compute_what_int8_will() -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(12, 5), torch.randn(3, 12)
    levels = Range.of(-3.0, 3.0)
    fake = FakeQuantLinear(layer, "int8", "static", levels)
    scale = layer.weight.abs().amax(1, keepdim=True) / 127
    weight = (layer.weight / scale).round() * scale
    rounded = ((x / levels.scale).round().clamp(-levels.zero, 255 - levels.zero)) * levels.scale
    torch.testing.assert_close(fake(x), rounded @ weight.T + layer.bias)
    dynamic = FakeQuantLinear(layer, "int8", "dynamic")
    top = x.abs().amax(1, keepdim=True) / 127
    torch.testing.assert_close(dynamic(x), ((x / top).round() * top) @ weight.T + layer.bias)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(dynamic(x), dynamic(x).float(), rtol=0.01, atol=0.02)
    fake(x).square().sum().backward()
    assert fake.weight.grad is not None and fake.step is not None and fake.step.grad is not None
    assert torch.isfinite(fake.step.grad) and float(fake.weight.grad.abs().sum()) > 0


def test_ternary_weights_have_three_values() -> None:
    torch.manual_seed(0)
    plain = FakeQuantLinear(torch.nn.Linear(40, 6), "ternary", "float").plain()
    for row in plain.weight:
        assert len(row.unique()) == 3 and 0.0 in row.unique()
    four = FakeQuantLinear(torch.nn.Linear(400, 6), "int4", "float").plain()
    assert max(len(row.unique()) for row in four.weight) == 15


def test_inserted_layers_come_out_again(networks: NanoNetworks) -> None:
    model = copy.deepcopy(networks)
    (acoustic, names), _ = parts_of(model)
    ranges = {name: Range(0.02, 128) for name in names.values()}
    done = insert(acoustic, ["flow.stack.*"], "int8", "static", ranges, names)
    assert len(done) == 4 and sum(isinstance(m, FakeQuantLinear) for m in acoustic.modules()) == 4
    learned = remove(acoustic, names)
    assert set(learned) == set(done) and learned[done[0]].scale == pytest.approx(0.02)
    assert not any(isinstance(m, FakeQuantLinear) for m in acoustic.modules())
    for name, value in networks.acoustic.state_dict().items():
        torch.testing.assert_close(acoustic.state_dict()[name], value)
    with pytest.raises(InputError, match="matches nothing"):
        insert(acoustic, ["flow.attention.*"], "int8", "dynamic", {}, names)


def test_sparsity_keeps_shapes(networks: NanoNetworks) -> None:
    sparse = sparsify(networks, Sparsity(0.5, ("flow.*",)))
    weight = sparse.acoustic.decoder.stack.blocks[0].spread.weight
    assert float((weight == 0).float().mean()) == pytest.approx(0.5, abs=0.02)
    assert weight.shape == networks.acoustic.decoder.stack.blocks[0].spread.weight.shape
    assert float((sparse.vocoder.leave.weight == 0).float().mean()) < 0.01


def test_step_distillation_is_exact_on_a_straight_path() -> None:
    """A field whose velocity is right for one step needs no correction; a curved one does."""
    noise, end = torch.zeros(1, 3, 2), torch.ones(1, 3, 2)
    path = walk(lambda x, t: end, noise, 8)
    torch.testing.assert_close(path[-1], end)
    for steps in (1, 2, 4):
        for said, wanted in average_velocity(lambda x, t: end, path, steps):
            torch.testing.assert_close(said, wanted)
        for named, wanted in consistency(lambda x, t: end, lambda x, t: end, path, steps):
            torch.testing.assert_close(named, wanted)
    curved = walk(lambda x, t: end * 2 * t, noise, 8)
    first, second = average_velocity(lambda x, t: end * 2 * t, curved, 2)
    assert float((first[1] - first[0]).abs().max()) > 0.3 and float((second[1] - second[0]).abs().max()) > 0.3


@pytest.mark.parametrize("method", ["average_velocity", "consistency"])
def test_distilled_steps_come_closer(networks: NanoNetworks, lessons: Lessons, tmp_path: Path, method: str) -> None:
    from cosylite.lab.compress.steps import _field

    how = FewSteps(1, method, 4, Training(steps=60, frames=400, rate=2e-3))  # type: ignore[arg-type]
    done = distil_steps(networks, networks, how, lessons, tmp_path, 0)
    batch = lessons.acoustic(3, 400)
    torch.manual_seed(5)
    noise = torch.randn_like(batch.frames)
    with torch.no_grad():
        wanted = walk(_field(networks.acoustic, batch), noise, 4)[-1]
        before, after = (walk(_field(m.acoustic, batch), noise, 1)[-1] for m in (networks, done))
    assert float((after - wanted).square().mean()) < 0.9 * float((before - wanted).square().mean())
    torch.testing.assert_close(done.acoustic.encoder.norm.weight, networks.acoustic.encoder.norm.weight)


@pytest.mark.timeout(900)
def test_a_recipe_with_everything(work: Path, cache: Path, tmp_path: Path) -> None:
    """Pruned, healed, two steps, fake quantisation, static int8; the second run takes what is there."""
    training = {"steps": 2, "frames": 400, "crops": 2}
    recipe = parse_recipe(
        {
            "name": "all",
            "prune": {"hidden": 0.5, "importance": "magnitude", "multiple": 8, "training": training},
            "steps": {"steps": 2, "teacher_steps": 4, "training": training},
            "fake": {"training": training, "layers": ["flow.*", "vocoder.hops.*"]},
            "quantise": [{"method": "static"}],
            "calibration": {"sentences": 2},
        }
    )
    first = compress(work, recipe, tmp_path / "a", work=cache)
    seen: list[str] = []
    compress(work, recipe, tmp_path / "b", work=cache, report=seen.append)
    assert "export" not in seen
    bundle = load_bundle(tmp_path / "a")
    assert bundle.manifest.flow.times == (0.0, 0.5, 1.0)
    assert bundle.manifest.revision == load_bundle(tmp_path / "b").manifest.revision
    assert first["ratio"] > 2.5 and np.isfinite(first["mel_distance"])
    block = next(i for i in read_graphs(tmp_path / "a")["flow"].graph.initializer if list(i.dims) == [144, 32])
    assert block.data_type == 3  # int8, half as wide as before
    assert NanoModel(bundle, device="cpu", threads=1).lookahead == 3


def _count(networks: NanoNetworks) -> int:
    return sum(p.numel() for m in (networks.acoustic, networks.vocoder) for p in m.parameters())
