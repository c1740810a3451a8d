"""What all benchmarks share: arguments, the machine, the JSON document, peak memory, the table."""

import argparse
import json
import os
import platform
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = (
    "name", "rtf", "latency_ms", "ttfa_ms_p50", "ttfa_ms_p95", "peak_rss_mb", "load_s", "size_mb", "tokens_per_s",
    "requests_per_s", "error_rate", "error_unit", "dnsmos", "distillmos", "mel_l1",
)  # fmt: skip
_ISA = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the arguments that every benchmark takes."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--bundle", default="nano", help="name or folder of the bundle")
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", type=Path, default=None, help="also write the result to this file")
    return made


def row(name: str, **values: Any) -> dict[str, Any]:
    """A result row: every column, null where not measured, and any further figures after them."""
    return {**dict.fromkeys(COLUMNS), "name": name, **values}


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` percent lie."""
    return float(np.percentile(np.array(values), share))


def folder_mb(folder: Path) -> float:
    """Size of all files below a folder in MB (10^6 bytes)."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6


def peak_rss_mb() -> float:
    """Largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def machine(threads: int) -> dict[str, Any]:
    """Processor, cores, vector extensions and measured float32 speed."""
    name, flags = platform.processor() or platform.machine(), ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() == "flags":
                flags = value
    known = set(flags.split())
    return {
        "cpu": name,
        "cores": os.cpu_count(),
        "isa": [isa for isa in _ISA if isa in known],
        "gflops_fp32": round(gflops(threads), 1),
    }


def gflops(threads: int, size: int = 768) -> float:
    """Best of five float32 products of square matrices in ONNX Runtime, in 10^9 operations a second."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(_product_graph(size), options, providers=["CPUExecutionProvider"])
    feed = {"a": np.ones((size, size), np.float32), "b": np.ones((size, size), np.float32)}
    best = min(_seconds(lambda: session.run(None, feed)) for _ in range(5))
    return 2 * size**3 / best / 1e9


def _product_graph(size: int) -> bytes:
    """A serialised ONNX model c = a @ b, written by hand so that the `onnx` package is not needed."""

    def field(number: int, payload: bytes | int) -> bytes:
        if isinstance(payload, int):
            return bytes([number << 3]) + _varint(payload)
        return bytes([number << 3 | 2]) + _varint(len(payload)) + payload

    def value(name: bytes) -> bytes:
        shape = field(1, field(1, size)) * 2
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, b"a") + field(1, b"b") + field(2, b"c") + field(4, b"MatMul")
    graph = field(1, node) + field(2, b"g") + field(11, value(b"a")) + field(11, value(b"b")) + field(12, value(b"c"))
    return field(1, 8) + field(8, field(1, b"") + field(2, 17)) + field(7, graph)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def commit() -> str | None:
    """The commit that is checked out, with a plus where files differ from it; None outside a repository."""
    here = Path(__file__).parent
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    if head.returncode:
        return None
    changed = subprocess.run(
        ["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True, check=False
    )
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def report(benchmark: str, args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Print the table of the columns that were measured; write the document where `--json` asks for it."""
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items() if k != "json"}
    document = {
        "schema": 1,
        "benchmark": benchmark,
        "commit": commit(),
        "machine": machine(args.threads),
        "settings": settings,
        "rows": rows,
    }
    facts = document["machine"]
    print(
        f"{benchmark}: {facts['cpu']}, {facts['cores']} cores, {facts['gflops_fp32']} GFLOP/s float32, "
        f"threads {args.threads}"
    )
    names = [
        c for c in dict.fromkeys([*COLUMNS, *(k for r in rows for k in r)]) if any(r.get(c) is not None for r in rows)
    ]
    cells = [[_cell(r.get(c)) for c in names] for r in rows]
    widths = [max(len(n), *(len(line[i]) for line in cells)) for i, n in enumerate(names)]
    for line in [names, ["-" * w for w in widths], *cells]:
        print("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |")
    if args.json:
        args.json.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
