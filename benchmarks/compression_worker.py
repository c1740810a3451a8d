"""The process in which a row of `compression.py` is measured: an order as JSON on stdin, figures as JSON on stdout."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import peak_rss_mb, percentile

VERSION = 2
"""Changes when figures would."""


def own_peak_mb() -> float:
    """Largest resident memory of this program. What the kernel reports for a child includes the parent before it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return peak_rss_mb()


def load(order: dict[str, Any]) -> Any:
    """The bundle in ONNX Runtime, or its networks in PyTorch."""
    from cosylite.runtime.bundle import load_bundle
    from cosylite.runtime.nano import NanoModel

    bundle = load_bundle(order["bundle"])
    if order["networks"] is None:
        return NanoModel(bundle, device="cpu", threads=order["threads"])
    import torch

    from cosylite.lab.compress.session import with_networks
    from cosylite.lab.compress.source import saved_networks

    torch.set_num_threads(order["threads"])
    return with_networks(bundle, saved_networks(Path(order["networks"]), Path(order["work"])), order["threads"])


def first_audio(model: Any, reading: Any, seed: int) -> float:
    """Milliseconds from symbols to the first samples of a stream."""
    from cosylite.runtime.nano import FlowStream, VocoderStream, Voicing
    from cosylite.runtime.stream import ChunkSizes

    start = time.perf_counter()
    flow = FlowStream(model, model.plan([reading])[0], Voicing(seed))
    vocoder, sizes, samples = VocoderStream(model, seed=seed), ChunkSizes(), np.zeros(0)
    while flow.left and not len(samples):
        samples = vocoder.push(flow.push(sizes.take(model.lookahead)))
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Load, speak, report."""
    order = json.load(sys.stdin)
    start = time.perf_counter()
    model = load(order)
    loading = time.perf_counter() - start
    from cosylite.runtime.nano import Reading, Voicing, render_batch

    readings = [Reading(symbols, voice) for symbols, voice in order["readings"]]
    voicing = Voicing(order["seed"])
    render_batch(model, model.plan(readings[:1]), [voicing])
    taken, firsts, said, seconds = [], [], {}, 0.0
    for i, reading in enumerate(readings):
        times = []
        for _ in range(order["repeats"]):
            start = time.perf_counter()
            samples = render_batch(model, model.plan([reading]), [voicing])[0]
            times.append((time.perf_counter() - start) * 1000)
        taken.append(min(times))
        firsts.append(min(first_audio(model, reading, order["seed"]) for _ in range(order["repeats"])))
        seconds += len(samples) / 24_000
        said[str(i)] = samples
    figures = {
        "rtf": sum(taken) / 1000 / seconds,
        "latency_ms": float(np.mean(taken)),
        "latency_ms_p95": percentile(taken, 95),
        "ttfa_ms_p50": percentile(firsts, 50),
        "ttfa_ms_p95": percentile(firsts, 95),
        "peak_rss_mb": own_peak_mb(),
        "load_s": loading,
    }
    np.savez(order["samples"], **said)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
