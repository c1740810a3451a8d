"""The exported graphs are the networks, in float and in int8, and rows never see each other."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

from cosylite.errors import BundleError
from cosylite.lab.export.nano import export, nano_graphs
from cosylite.lab.export.quantise import constant_products, quantise, quantise_columns
from cosylite.lab.export.recover import fill, weights_of
from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.vocoder import Vocoder

from .test_nano_networks import TINY, TINY_VOCODER

Feeds = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[torch.nn.Module, onnx.ModelProto, Feeds]]:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("graphs")
    models = nano_graphs(AcousticModel(TINY).eval(), Vocoder(TINY_VOCODER, np.zeros(80), np.ones(80)).eval())
    return {
        name: (graph.module, _quietly(graph, folder / f"{name}.onnx"), {k: v.numpy() for k, v in graph.inputs.items()})
        for name, graph in models.items()
    }


def _quietly(graph, path: Path) -> onnx.ModelProto:  # type: ignore[no-untyped-def]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own internals
        return export(graph, path)


def run(model: onnx.ModelProto, feeds: Feeds) -> list[np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.mark.parametrize("name", ["text", "flow", "vocoder"])
def test_the_graph_is_the_network(graphs, name: str) -> None:  # type: ignore[no-untyped-def]
    module, model, feeds = graphs[name]
    with torch.no_grad():
        wanted = module(*(torch.from_numpy(v) for v in feeds.values()))
    for made, want in zip(run(model, feeds), wanted, strict=True):
        np.testing.assert_allclose(made, want.numpy(), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["text", "flow", "vocoder"])
@pytest.mark.parametrize("int8", [False, True])
def test_one_row_and_one_frame_are_allowed(graphs, name: str, int8: bool) -> None:  # type: ignore[no-untyped-def]
    _, model, feeds = graphs[name]
    short = {"x": 1, "cond": 1, "position": 1, "mel": 1, "pitch": 1, "harmonic": 2, "noise": 2, "tokens": 1}
    feeds = {k: v if k == "time" else v[:1, : short[k]] if k in short else v[:1] for k, v in feeds.items()}
    if name == "text":
        feeds["lengths"] = np.array([1])
    for made in run(quantise(model) if int8 else model, feeds):
        assert np.isfinite(made).all()


@pytest.mark.parametrize("name", ["flow", "vocoder"])
def test_int8_is_near_and_rows_are_independent(graphs, name: str) -> None:  # type: ignore[no-untyped-def]
    _, model, feeds = graphs[name]
    small = quantise(model)
    exact, near = run(model, feeds)[0], run(small, feeds)[0]
    assert np.sqrt(((exact - near) ** 2).mean() / (exact**2).mean()) < 0.03
    loud = {k: v if k == "time" else np.concatenate([v[:1], 50 * v[1:]]) for k, v in feeds.items()}
    np.testing.assert_allclose(run(small, loud)[0][0], near[0], rtol=1e-5, atol=1e-6)


def test_every_product_with_a_constant_becomes_int8(graphs) -> None:  # type: ignore[no-untyped-def]
    _, model, _ = graphs["flow"]
    small = quantise(model)
    assert sum(n.op_type == "MatMulInteger" for n in small.graph.node) == len(constant_products(model)) > 5
    assert not constant_products(small)
    assert model.ByteSize() > 2 * small.ByteSize() / 1.5


def test_columns_are_quantised_within_half_a_step() -> None:
    weight = np.random.default_rng(0).standard_normal((40, 7)).astype(np.float32) * np.arange(1, 8, dtype=np.float32)
    values, scale = quantise_columns(weight)
    assert np.abs(values * scale - weight).max(0).tolist() <= (scale / 2 + 1e-6).tolist()


@pytest.mark.parametrize("int8", [False, True])
def test_a_network_comes_back_out_of_its_graphs(tmp_path: Path, int8: bool) -> None:
    """Every parameter, exactly from float32 and within half a step of its column from int8."""
    torch.manual_seed(1)
    model = AcousticModel(TINY).eval()
    for parameter in model.parameters():  # a graph holds equal values only once
        torch.nn.init.normal_(parameter, std=0.1)
    found = {"voices.weight": model.voices.weight.detach().numpy()}
    for name, graph in nano_graphs(model, Vocoder(TINY_VOCODER, np.zeros(80), np.ones(80))).items():
        if name == "vocoder":
            continue
        written = _quietly(graph, tmp_path / f"{name}.onnx")
        if int8:
            onnx.save(quantise(written), str(tmp_path / f"{name}.onnx"))
        found |= weights_of(tmp_path / f"{name}.onnx")
    again = AcousticModel(TINY)
    fill(again, found)
    for (name, was), now in zip(model.state_dict().items(), again.state_dict().values(), strict=True):
        torch.testing.assert_close(now, was, rtol=0, atol=float(was.abs().max()) / 250 if int8 else 0.0, msg=name)
    del found["decoder.leave.weight"]
    with pytest.raises(BundleError, match="leave"):
        fill(again, found)


def test_no_path_of_the_machine_gets_into_a_graph(graphs) -> None:  # type: ignore[no-untyped-def]
    for _, model, _ in graphs.values():
        assert str(Path(__file__).parents[2]).encode() not in model.SerializeToString()
