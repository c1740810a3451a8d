"""Speed and memory of the official families at their official sizes, with random weights.

    python benchmarks/families.py --work models/families

Builds CosyVoice-300M (v1), CosyVoice2-0.5B (v2) and Fun-CosyVoice3-0.5B (v3) with random weights and converts each to
bundles that stay below `--work` (some 12 GB; the first run takes 5 to 10 minutes longer). Our own PyTorch networks in
float32 and every bundle are then measured in a process of its own each. The arithmetic is that of the released
weights; what is spoken is noise. Lengths are forced: 5 s and 3 s of speech for texts of 25 and 15 ids.

`rtf` is the whole of language model, flow and vocoder, each the best of `--repeats`; `ttfa` is the time from text to
first audio of the official streaming (28 tokens, v1: 120); `times_torch` how many times faster than our PyTorch in the
same run. float32 is measured with the sentence of 5 s only. `--bundle` measures a bundle of your own instead.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import folder_mb, parser, peak_rss_mb, report, row
from family_speakers import BundleSpeaker, Given, Speaker, TorchSpeaker, random_model, timed

FAMILIES = ("v1", "v2", "v3")
KINDS = ("torch", "fp32", "int8", "int4")
PROMPT_SECONDS = 3
TEXTS = {5: 25, 3: 15}
"""Seconds of speech: ids of the text."""
BATCH = 8


def build(family: str, kinds: list[str], args: argparse.Namespace) -> None:
    """Convert a model with random weights to the bundles that are not there yet."""
    from cosylite.lab.checkpoints import Checkpoint
    from cosylite.lab.export.family import export_family

    folder = args.work / family
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"family": family}))
    checkpoint = Checkpoint(folder, random_model(family, args.seed), {})
    for kind in kinds:
        start = time.perf_counter()
        found = export_family(checkpoint, folder / kind, name=f"{family}-random", precision=kind)  # type: ignore[arg-type]
        differences = ", ".join(f"{stage} {d.relative:.0e}" for stage, d in found.items())
        print(
            f"built {family} {kind} in {time.perf_counter() - start:.0f} s: {differences}", file=sys.stderr, flush=True
        )


def sentence(name: str, speaker: Speaker, given: Given, seconds: int, args: Any, steps: int = 10) -> dict[str, Any]:
    """A row about one sentence: the best of some runs, stage by stage."""
    repeats = 1 if isinstance(speaker, TorchSpeaker) else args.repeats
    runs = [speaker.say(given, seconds, steps) for _ in range(repeats)]
    best = {stage: min(run[stage] for run in runs) for stage in ("lm", "flow", "vocoder")}
    lasts, total = runs[0]["seconds"], sum(best.values())
    return row(
        name,
        rtf=total / lasts,
        latency_ms=total * 1000,
        tokens_per_s=runs[0]["tokens"] / best["lm"],
        peak_rss_mb=peak_rss_mb(),
        rtf_lm=best["lm"] / lasts,
        rtf_flow=best["flow"] / lasts,
        rtf_vocoder=best["vocoder"] / lasts,
    )


def measure(name: str, speaker: Speaker, args: argparse.Namespace, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows about one kind of one family."""
    family, torch = speaker.family, isinstance(speaker, TorchSpeaker)
    given = Given.random(family, TEXTS[5], 0, args.seed)
    speaker.decode(given, TEXTS[5])
    main = sentence(f"{name}, 5 s", speaker, given, 5, args)
    firsts = [speaker.first_audio(given) * 1000 for _ in range(1 if torch else args.repeats)]
    main |= facts | {"ttfa_ms_p50": float(np.median(firsts)), "ttfa_ms_p95": max(firsts), "peak_rss_mb": peak_rss_mb()}
    rows = [main]
    if torch or args.quick or name.endswith("fp32"):
        return rows
    rows.append(sentence(f"{name}, 3 s", speaker, Given.random(family, TEXTS[3], 0, args.seed), 3, args))
    prompted = Given.random(family, TEXTS[3], PROMPT_SECONDS, args.seed)
    rows.append(sentence(f"{name}, 3 s after a prompt of 3 s", speaker, prompted, 3, args))
    rows[-1]["ttfa_ms_p50"] = speaker.first_audio(prompted) * 1000
    if family == "v3":
        rows += [sentence(f"{name}, 5 s, {steps} flow steps", speaker, given, 5, args, steps) for steps in (4, 2)]
    if isinstance(speaker, BundleSpeaker):
        rows.append(batch(name, speaker, args))
    return rows


def batch(name: str, speaker: BundleSpeaker, args: argparse.Namespace) -> dict[str, Any]:
    """Eight texts in one decoding loop against one; a short text that comes late must not wait for long ones."""
    from cosylite.runtime.family.batching import DecodeLoop, Request
    from cosylite.runtime.family.decode import Limits, Prompt

    lm = speaker.model.lm
    texts = [Given.random(speaker.family, TEXTS[5], 0, args.seed + i).text for i in range(BATCH)]

    def requests(count: int, ratio: float) -> list[Any]:
        return [Request(Prompt(text), speaker.sampler(), Limits(ratio, ratio)) for text in texts[:count]]

    def run(made: list[Any]) -> float:
        loop = DecodeLoop(lm, rows=BATCH)
        for request in made:
            loop.submit(request)
        return timed(lambda: [loop.step() for _ in iter(lambda: loop.busy, False)])[1]

    together = requests(BATCH, 3.0)
    alone = [requests(BATCH, 3.0)[i] for i in range(BATCH)]
    seconds = run(together)
    single = sum(run([request]) for request in alone)
    equal = [a.tokens for a in together] == [a.tokens for a in alone]
    long, short = requests(1, 6.0)[0], Request(Prompt(texts[1][:5]), speaker.sampler(), Limits(3.0, 3.0))
    loop = DecodeLoop(lm, rows=BATCH)
    loop.submit(long)
    for _ in range(10):
        loop.step()
    loop.submit(short)
    while not short.done:
        loop.step()
    count = BATCH * 3 * TEXTS[5]
    return row(
        f"{name}, 8 rows together",
        tokens_per_s=count / seconds,
        times_one_row=single / seconds,
        equal_tokens=equal,
        logits_difference=logits_difference(lm, texts),
        late_short_first=not long.done,
    )


def logits_difference(lm: Any, texts: list[list[int]]) -> float:
    """Largest difference of log-probabilities between rows that share a step and each row alone."""
    from cosylite.runtime.family.decode import Prompt, prompt_rows

    after, alone, shared = lm.speech([1]), [], None
    for text in texts:
        rows, memory = prompt_rows(lm, Prompt(text)), lm.open(0)
        lm.feed(rows, memory)
        twin = lm.open(0)
        lm.feed(rows, twin)
        alone.append(lm.feed(after, twin))
        if shared is None:
            shared = memory
        else:
            shared.join(memory)
    return float(np.abs(lm.feed_batch([after] * len(texts), shared) - np.array(alone)).max())


def child(args: argparse.Namespace) -> None:
    """What a process of its own does: build bundles, or measure one kind; rows go to standard output."""
    family, kind = args.child.split(":")
    if kind.startswith("build"):
        build(family, kind.split("-")[1:], args)
        return
    if kind == "torch":
        speaker: Speaker = TorchSpeaker(family, args)
        facts: dict[str, Any] = {"size_mb": weights_mb(speaker)}
        name = f"{family} PyTorch float32"
    else:
        folder = args.work / family / kind if args.bundle == "random" else Path(args.bundle)
        speaker, load = timed(lambda: BundleSpeaker(folder, args))
        facts = {"size_mb": folder_mb(folder), "load_s": load}
        name = f"{family} {kind}" if args.bundle == "random" else folder.name
    print(json.dumps(measure(name, speaker, args, facts)))


def weights_mb(speaker: "TorchSpeaker") -> float:
    """Size of the weights of a PyTorch model."""
    parts = (speaker.model.lm, speaker.model.flow, speaker.model.vocoder)
    return sum(p.numel() * p.element_size() for part in parts for p in part.state_dict().values()) / 1e6


def apart(job: str, argv: list[str]) -> str:
    """Run a job in a process of its own; its standard output."""
    command = [sys.executable, __file__, *argv, "--child", job]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def compare_with_torch(rows: list[dict[str, Any]]) -> None:
    """Add how many times faster than PyTorch the five-second sentences are."""
    torch = {r["name"].split()[0]: r["rtf"] for r in rows if "PyTorch" in r["name"]}
    for r in rows:
        base = torch.get(r["name"].split()[0])
        if base and r["name"].endswith(", 5 s"):
            r["times_torch"] = base / r["rtf"]


def main(argv: list[str]) -> None:
    """Measure and report."""
    made = parser(__doc__)
    made.set_defaults(bundle="random")
    made.add_argument("--work", type=Path, default=Path("models/families"), help="folder for the bundles")
    made.add_argument("--families", default=",".join(FAMILIES), help="comma-separated")
    made.add_argument("--kinds", default=",".join(KINDS), help="comma-separated: torch and precisions")
    made.add_argument("--device", default="cpu", help="of the bundles; openvino-bf16 takes the vocoder")
    made.add_argument("--repeats", type=int, default=2)
    made.add_argument("--quick", action="store_true", help="the five-second sentence only")
    made.add_argument("--child", default=None, help=argparse.SUPPRESS)
    args = made.parse_args(argv)
    if args.child:
        child(args)
        return
    rows: list[dict[str, Any]] = []
    if args.bundle != "random":
        rows = json.loads(apart("own:bundle", argv))
        report("families", args, rows)
        return
    kinds = args.kinds.split(",")
    for family in args.families.split(","):
        missing = [
            kind for kind in kinds if kind != "torch" and not (args.work / family / kind / "bundle.json").exists()
        ]
        if missing:
            apart(f"{family}:build-{'-'.join(missing)}", argv)
        for kind in kinds:
            rows += json.loads(apart(f"{family}:{kind}", argv))
            print(f"measured {family} {kind}", file=sys.stderr, flush=True)
    compare_with_torch(rows)
    report("families", args, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
