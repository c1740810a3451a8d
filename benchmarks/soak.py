"""Mixed and hostile load for ten minutes: clients that leave, read a byte a second, send garbage, open 500 sockets.

    python benchmarks/soak.py --bundle nano --seconds 600

Meanwhile a careful client checks that every answer it gets is complete and equal to the one before. Prints memory,
threads and descriptors over time, and fails (exit code 1) if a careful request failed, memory or threads grew, a place
was not given back, or the errors were not counted.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from common import parser, report, row
from serving import Server, request, serving

TEXT = "The careful client asks for number {n}, and compares what it gets with what it got before."
LONG = "A long story begins here, and it goes on for quite a while before it comes to an end. " * 12
NUMBERS = itertools.count()
GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\n" + b"A" * 70000,
    b"POST /tts HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{", b"\x00" * 5000,
    b'POST /tts HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"text":"a',
)  # fmt: skip
IGNORED = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError)


def post(text: str, format: str = "pcm") -> bytes:
    """Bytes of a request."""
    body = json.dumps({"input": text, "response_format": format}).encode()
    head = f"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def careful(server: Server, counts: dict[str, int]) -> None:
    """Requests as they should be; half of them without the cache."""
    number = next(NUMBERS) % 7
    headers = {"Cache_Control": "no-store"} if random.random() < 0.5 else {}
    body = {"input": TEXT.format(n=number), "response_format": "pcm"}
    answer = await request(server.port, "POST", "/v1/audio/speech", body, **headers)
    length = counts.setdefault(f"length of {number}", len(answer.body))
    good = answer.status == 200 and answer.complete and length == len(answer.body) > 0
    counts["careful" if good else "careful, failed"] += 1


async def leaver(server: Server, counts: dict[str, int]) -> None:
    """Asks for a long text and leaves after the first bytes, or before them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(post(f"{next(NUMBERS)} {LONG}", random.choice(["pcm", "mp3", "opus", "wav"])))
    if random.random() < 0.7:
        await reader.read(random.choice([1, 300, 5000]))
    writer.close()
    counts["left"] += 1


async def slow(server: Server, counts: dict[str, int]) -> None:
    """Reads a byte a second through a small window."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=1)
    writer.write(post(f"{next(NUMBERS)} {LONG}"))
    for _ in range(random.randrange(5, 25)):
        if not await reader.read(1):
            break
        await asyncio.sleep(1)
    writer.close()
    counts["slow"] += 1


async def garbage(server: Server, counts: dict[str, int]) -> None:
    """Sends what is no request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(random.choice(GARBAGE))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            await reader.read(100)
    writer.close()
    counts["garbage"] += 1


async def crowd(server: Server, counts: dict[str, int]) -> None:
    """Opens 500 sockets at once, says nothing, and leaves."""
    opened = await asyncio.gather(
        *(asyncio.open_connection("127.0.0.1", server.port) for _ in range(500)), return_exceptions=True
    )
    await asyncio.sleep(3)
    for pair in opened:
        if not isinstance(pair, BaseException):
            pair[1].close()
            counts["idle sockets"] += 1
    await asyncio.sleep(5)


async def wrong(server: Server, counts: dict[str, int]) -> None:
    """Requests that must be refused."""
    body = random.choice([{}, {"input": ""}, {"input": "x", "voice": "nobody"}, {"input": "x", "speed": 99}])
    answer = await request(server.port, "POST", "/v1/audio/speech", body)
    counts["refused" if answer.status == 400 else "refused, wrongly"] += 1
    await asyncio.sleep(0.05)


async def repeat(
    act: Callable[[Server, dict[str, int]], Awaitable[None]], server: Server, counts: dict[str, int], until: float
) -> None:
    """One client that acts again and again."""
    while time.monotonic() < until:
        try:
            await act(server, counts)
        except IGNORED as error:
            name = "careful, failed" if act is careful else f"{act.__name__}, broken off"
            counts[name] += 1
            if act is careful:
                print("careful client:", repr(error))
        await asyncio.sleep(0.01)


class Counts(dict[str, int]):
    """Counts that begin at 0."""

    def __missing__(self, key: str) -> int:
        return 0


async def run(server: Server, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The whole load, with a sample of the server's state at regular times."""
    counts, rows = Counts(), []
    until = time.monotonic() + args.seconds
    acts = [careful] * 3 + [leaver] * 4 + [slow] * 4 + [garbage] * 2 + [crowd] + [wrong]
    work = [asyncio.create_task(repeat(act, server, counts, until)) for act in acts]
    while time.monotonic() < until:
        await asyncio.sleep(args.seconds / 12)
        left = max(0, round(until - time.monotonic()))
        rows.append(state(server, f"{left} s left"))
        print(rows[-1]["name"], {k: v for k, v in rows[-1].items() if v is not None and k != "name"})
    await asyncio.gather(*work)
    await settle(server)
    rows.append(state(server, "afterwards"))
    for name in ("requests_running", "requests_waiting", "segments_open", "sockets_open"):
        counts[name] = round(await server.metric(f"cosylite_{name}"))
    counts["disconnects counted"] = round(await server.metric("cosylite_disconnects_total"))
    counts["responses with 500"] = round(await server.metric("cosylite_http_responses_total", 'status="500"'))
    print({key: value for key, value in counts.items() if not key.startswith("length of")})
    args.problems = judge(counts, rows)
    return rows


async def settle(server: Server) -> None:
    """Wait until nothing runs."""
    for _ in range(400):
        if await server.metric("cosylite_requests_running") + await server.metric("cosylite_segments_open") == 0:
            return
        await asyncio.sleep(0.1)


def state(server: Server, name: str) -> dict[str, Any]:
    """A row with what the server holds."""
    return row(name, peak_rss_mb=server.rss_mb(), threads=server.threads(), descriptors=server.files())


def judge(counts: dict[str, int], rows: list[dict[str, Any]]) -> list[str]:
    """What is wrong."""
    half = len(rows) // 2
    problems = [f"{name}: {counts[name]}" for name in (
        "careful, failed", "refused, wrongly", "requests_running", "requests_waiting", "segments_open", "sockets_open",
        "responses with 500",
    ) if counts[name]]  # fmt: skip
    if not counts["careful"] or not counts["disconnects counted"]:
        problems.append("no careful request succeeded, or no disconnect was counted")
    before = max(entry["peak_rss_mb"] for entry in rows[1:half])
    after = max(entry["peak_rss_mb"] for entry in rows[half:-1])
    if after > 1.1 * before + 20:
        problems.append(f"memory grew from {before:.0f} to {after:.0f} MB")
    if rows[-1]["threads"] > rows[1]["threads"] + 4:
        problems.append(f"threads grew from {rows[1]['threads']} to {rows[-1]['threads']}")
    if rows[-1]["descriptors"] > rows[0]["descriptors"] + 20:
        problems.append(f"{rows[-1]['descriptors']} descriptors are open afterwards")
    return problems


def main() -> int:
    """Run it; 1 if something is wrong."""
    made = parser(__doc__)
    made.add_argument("--seconds", type=float, default=600.0)
    args = made.parse_args()
    random.seed(args.seed)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limit[1]), limit[1]))
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    flags = ("--bundle", args.bundle, "--workers", str(args.threads), "--stall-seconds", "10", "--log-level", "info")
    with serving(*flags) as server:
        rows = asyncio.run(run(server, args))
    problems = vars(args).pop("problems")
    report("soak", args, rows)
    print(*(problems or ["nothing is wrong"]), sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
