"""The service under load: a real server process on loopback, several numbers of clients, cached and not.

    python benchmarks/load.py --bundle nano --clients 1 4 16 64 --seconds 10

Clients ask one after the other for a mix of short and long texts, a quarter of them repeated (so cached), as streamed
PCM. Columns: requests per second, time to the first audio byte, seconds of computing per second of audio (wall time),
audio seconds made per second, processor share of all cores used by the server, its memory. Then: one cached answer,
the engine's own first chunk against the server's first byte, and batching forced on and off for whole files. Of models
that decode (CosyVoice) also: rows per decoding step and speech tokens per second.
"""

import argparse
import asyncio
import itertools
import os
import random
import sys
import time
from typing import Any

from common import parser, percentile, report, row
from serving import Server, request, serving

from cosylite.serve.engine import SpeechOptions
from cosylite.serve.settings import Settings
from cosylite.serve.tts_engine import load_engine

SHORT = "Please remind me to water the plants at {n} this evening."
LONG = (
    "Ticket number {n} was opened on Monday by a visitor of the library. She had lost a small notebook between the "
    "reading room and the garden. The porter looked for it twice, first in the morning and then again before closing. "
    "In the end it lay under a chair next to the window, where nobody had sat all day."
)
COMMON = [SHORT.format(n=f"{hour} o'clock") for hour in ("six", "seven", "eight", "nine")]
CHINESE = "第{n}号列车将在五分钟后到达，请各位旅客做好准备。"
RATE = 24000
NUMBERS = itertools.count(100)


def text_for(rng: random.Random) -> str:
    """The next text of the mix."""
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(COMMON)
    pattern = LONG if kind < 0.45 else CHINESE if kind < 0.65 else SHORT
    return pattern.format(n=next(NUMBERS))


async def clients(server: Server, count: int, seconds: float, seed: int, whole: bool = False) -> dict[str, Any]:
    """`count` clients for `seconds`."""
    rng = random.Random(seed)
    first: list[float] = []
    audio, failed = 0.0, 0
    until = time.perf_counter() + seconds

    async def client() -> None:
        nonlocal audio, failed
        while time.perf_counter() < until:
            body = {"input": text_for(rng), "response_format": "pcm", "stream": not whole}
            answer = await request(server.port, "POST", "/v1/audio/speech", body)
            if answer.status != 200 or not answer.complete:
                failed += 1
                continue
            first.append(1000 * answer.first)
            audio += len(answer.body) / 2 / RATE

    before = await counts(server)
    started, used = time.perf_counter(), server.processor_seconds()
    await asyncio.gather(*(client() for _ in range(count)))
    wall = time.perf_counter() - started
    rows, runs, shared, steps, tokens = (b - a for a, b in zip(before, await counts(server), strict=True))
    share = (server.processor_seconds() - used) / wall / (os.cpu_count() or 1)
    return {
        "requests_per_s": len(first) / wall, "ttfa_ms_p50": percentile(first, 50), "ttfa_ms_p95": percentile(first, 95),
        "ttfa_ms_p99": percentile(first, 99), "rtf": wall / audio, "audio_s_per_s": audio / wall,
        "peak_rss_mb": server.rss_mb(), "processor_share": share, "requests": len(first), "failed": failed,
        "mean_batch": rows / max(runs, 1),
        "decode_rows": shared / steps if steps else None, "tokens_per_s": tokens / wall if steps else None,
    }  # fmt: skip


async def counts(server: Server) -> list[float]:
    """So far: rows and runs of sound, rows and steps of decoding, tokens."""
    size, decode = "cosylite_batch_size", 'stage="decode"'
    shared = [await server.metric(f"{size}_sum", decode), await server.metric(f"{size}_count", decode)]
    everything = [await server.metric(f"{size}_sum"), await server.metric(f"{size}_count")]
    whole = [total - part for total, part in zip(everything, shared, strict=True)]
    return [*whole, *shared, await server.metric("cosylite_tokens_total")]


def engine_first_chunk(args: argparse.Namespace) -> float:
    """Milliseconds from text to the first chunk of the engine alone, in this process; median of twenty."""
    engine = load_engine(args.bundle, Settings(bundle=(args.bundle,), threads=args.engine_threads))
    times = []
    for number in range(25):
        started = time.perf_counter()
        segment = next(iter(engine.segments(SHORT.format(n=number), "auto")))
        stream = engine.open(segment, SpeechOptions(segment.voice))
        while True:
            while not stream.ready:
                engine.advance([stream])
            chunk = stream.step()
            if chunk is None or len(chunk.samples):
                break
        times.append(1000 * (time.perf_counter() - started))
        stream.close()
    engine.close()
    return percentile(times[5:], 50)


async def one_client_alone(server: Server, headers: dict[str, str], text: str | None) -> list[float]:
    """Milliseconds to the first byte (fresh texts) or to the end (a repeated one)."""
    found = []
    for number in range(25):
        body = {"input": text or SHORT.format(n=5000 + number), "response_format": "pcm"}
        answer = await request(server.port, "POST", "/v1/audio/speech", body, **headers)
        found.append(1000 * (answer.total if text else answer.first))
    return found[5:]


async def measure(server: Server, args: argparse.Namespace, own: float) -> list[dict[str, Any]]:
    """Rows of one server with batching as it decides."""
    alone = await one_client_alone(server, {"Cache_Control": "no-store"}, None)
    cached = await one_client_alone(server, {}, COMMON[0])
    rows = [
        row("engine, first chunk", ttfa_ms_p50=own),
        row("server, first byte, one caller", ttfa_ms_p50=percentile(alone, 50), ttfa_ms_p95=percentile(alone, 95)),
        row("server, cached, whole answer", latency_ms=percentile(cached, 50), latency_ms_p95=percentile(cached, 95)),
    ]
    for count in args.clients:
        found = await clients(server, count, args.seconds, args.seed + count)
        rows.append(row(f"{count} clients", **found))
    return rows


def main() -> int:
    """Run everything; 1 if a request failed."""
    made = parser(__doc__)
    made.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16, 64])
    made.add_argument("--seconds", type=float, default=10.0, help="length of each measurement")
    made.add_argument("--engine-threads", type=int, default=1, help="threads in one step of the engine")
    made.add_argument("--deadline-seconds", type=float, default=30.0, help="longest time to the first audio")
    args = made.parse_args()
    flags = ["--bundle", args.bundle, "--threads", str(args.engine_threads)]
    flags += ["--deadline-seconds", str(args.deadline_seconds)]
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    own = engine_first_chunk(args)
    with serving(*flags, "--workers", str(args.threads)) as server:
        rows = asyncio.run(measure(server, args, own))
    for switch in ("off", "on"):
        with serving(*flags, "--workers", str(args.threads), "--batching", switch) as server:
            found = asyncio.run(clients(server, 16, args.seconds, args.seed, whole=True))
            rows.append(row(f"16 clients, whole files, batching {switch}", **found))
    report("load", args, rows)
    return int(any(entry.get("failed") for entry in rows))


if __name__ == "__main__":
    sys.exit(main())
