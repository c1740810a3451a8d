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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import folder_mb, parser, peak_rss_mb, report, row

FAMILIES = ("v1", "v2", "v3")
KINDS = ("torch", "fp32", "int8", "int4")
PROMPT_SECONDS = 3
TOKEN_RATE = {"v1": 50, "v2": 25, "v3": 25}
TEXTS = {5: 25, 3: 15}
"""Seconds of speech: ids of the text."""
FIRST_CHUNK = {"v1": 120, "v2": 28, "v3": 28}
"""Tokens that the official code waits for before the first audio, look-ahead included."""
BATCH = 8


@dataclass(frozen=True)
class Given:
    """A voice to speak with; without a prompt its arrays are empty."""

    text: list[int]
    prompt_text: list[int]
    prompt_tokens: np.ndarray
    prompt_feat: np.ndarray
    embedding: np.ndarray

    @classmethod
    def random(cls, family: str, text: int, prompt_seconds: int, seed: int) -> "Given":
        """Made-up ids and arrays of the right shapes."""
        draw = np.random.default_rng(seed)
        tokens = prompt_seconds * TOKEN_RATE[family]
        frames = int(prompt_seconds * 22050 / 256) if family == "v1" else 2 * tokens
        return cls(
            [int(i) for i in draw.integers(0, 50000, text)],
            [int(i) for i in draw.integers(0, 50000, 5 * prompt_seconds)],
            draw.integers(0, 4096, (1, tokens)),
            draw.standard_normal((1, frames, 80), dtype=np.float32),
            draw.standard_normal((1, 192), dtype=np.float32),
        )


class Speaker:
    """The three stages of a model, timed. Subclasses say how they run."""

    family: str
    sample_rate: int

    def decode(self, given: Given, count: int) -> list[int]:
        """Exactly `count` speech tokens."""
        raise NotImplementedError

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        """Mel (1, 80, T); `streaming` as for a first chunk."""
        raise NotImplementedError

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        """Samples (1, N)."""
        raise NotImplementedError

    def say(self, given: Given, seconds: int, steps: int = 10) -> dict[str, float]:
        """Seconds that each stage takes for a sentence, and that it lasts."""
        count = seconds * TOKEN_RATE[self.family]
        tokens, lm = timed(lambda: self.decode(given, count))
        mel, flow = timed(lambda: self.mel(given, tokens, steps))
        wave, vocoder = timed(lambda: self.wave(mel))
        lasts = wave.shape[-1] / self.sample_rate
        if len(tokens) != count or abs(lasts - seconds) > 0.1:
            raise RuntimeError(f"{len(tokens)} tokens and {lasts:.2f} s of audio instead of {count} and {seconds} s")
        return {"lm": lm, "flow": flow, "vocoder": vocoder, "seconds": lasts, "tokens": count}

    def first_audio(self, given: Given) -> float:
        """Seconds to the first audio."""

        def first() -> np.ndarray:
            tokens = self.decode(given, FIRST_CHUNK[self.family])
            return self.wave(self.mel(given, tokens, 10, streaming=True), streaming=True)

        return timed(first)[1]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def forced(speech_tokens: int, sampler: Any) -> Any:
    """A sampler that never ends the speech."""

    def pick(logp: np.ndarray, history: list[int]) -> int:
        logp = logp.copy()
        logp[speech_tokens:] = -np.inf
        return int(sampler(logp, history))

    return pick


class BundleSpeaker(Speaker):
    """A bundle on the runtime."""

    def __init__(self, path: Path, args: argparse.Namespace) -> None:
        from cosylite.runtime.family.model import load_family

        self.model = load_family(path, device=args.device, threads=args.threads)
        self.family, self.sample_rate = self.model.manifest.family, self.model.manifest.sample_rate
        self.seed = args.seed

    def sampler(self) -> Any:
        """Repetition-aware sampling of speech tokens only."""
        from cosylite.runtime.family.sampling import race, repetition_aware

        spec = self.model.lm.spec
        return forced(spec.speech_tokens, repetition_aware(spec.sampling, race(np.random.default_rng(self.seed))))

    def decode(self, given: Given, count: int) -> list[int]:
        from cosylite.runtime.family.decode import Limits

        ratio = count / len(given.text)
        return self.model.lm.decode(
            given.text,
            given.prompt_text,
            given.prompt_tokens,
            given.embedding,
            self.sampler(),
            limits=Limits(ratio, ratio),
        )

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        whole = self.family == "v1" or not streaming
        noise = self.model.noises.flow(given.prompt_feat.shape[1] + 100 * len(tokens), self.seed)
        return self.model.flow(
            np.array([tokens]),
            given.prompt_tokens,
            given.prompt_feat,
            given.embedding,
            noise,
            not whole,
            whole,
            steps=steps,
        )

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        finalize = self.family != "v3" or not streaming
        vocoder = self.model.vocoder
        samples = mel.shape[-1] * vocoder.spec.source.samples_per_frame
        source = vocoder.excite(mel, self.model.noises.source(0, samples, self.seed), finalize=finalize)
        return vocoder.decode(mel, source, finalize=finalize)


class TorchSpeaker(Speaker):
    """Our own networks on PyTorch in float32."""

    def __init__(self, family: str, args: argparse.Namespace) -> None:
        import torch

        from cosylite.lab.models.stages import TorchTokenModel, control_ids

        torch.set_num_threads(args.threads)
        self.model = random_model(family, args.seed)
        self.family, self.sample_rate, self.seed = family, self.model.config.sample_rate, args.seed
        controls = control_ids(self.model.config.family, self.model.config.lm.speech_tokens)
        self.lm = TorchTokenModel(self.model.lm, controls)

    def decode(self, given: Given, count: int) -> list[int]:
        import torch

        from cosylite.runtime.family.decode import Limits, Prompt, decode
        from cosylite.runtime.family.sampling import race, repetition_aware

        config = self.model.config.lm
        chance = race(np.random.default_rng(self.seed))
        sampler = forced(config.speech_tokens, repetition_aware(config.sampling, chance))
        ratio = count / len(given.text)
        prompt = Prompt(given.text, given.prompt_text, given.prompt_tokens[0].tolist(), given.embedding)
        with torch.inference_mode():
            return list(decode(self.lm, prompt, sampler, Limits(ratio, ratio)))

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        import torch

        from cosylite.lab.models.flow import CausalFlow
        from cosylite.runtime.family.flow import cosine_times, euler_steps, target_frames

        flow, schedule = self.model.flow, euler_steps(cosine_times(steps))
        config = self.model.config
        frames = (
            2 * len(tokens)
            if isinstance(flow, CausalFlow)
            else target_frames(
                len(tokens), config.flow.token_rate, config.sample_rate, config.vocoder.samples_per_frame
            )
        )
        noise = torch.randn(1, 80, given.prompt_feat.shape[1] + frames)
        arrays = (np.array([tokens]), given.prompt_tokens, given.prompt_feat, given.embedding)
        inputs = [torch.from_numpy(np.ascontiguousarray(value)) for value in arrays]
        with torch.inference_mode():
            if isinstance(flow, CausalFlow):
                return flow(*inputs, noise, schedule, streaming=streaming, finalize=not streaming).numpy()
            return flow(*inputs, noise, schedule)[0].numpy()

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        import torch

        vocoder, finalize = self.model.vocoder, self.family != "v3" or not streaming
        signal = torch.from_numpy(np.ascontiguousarray(mel))
        noise = torch.rand(1, mel.shape[-1] * vocoder.config.samples_per_frame, vocoder.config.harmonics + 1)
        with torch.inference_mode():
            source = vocoder.excite(vocoder.pitch(signal, finalize=finalize), noise)
            return vocoder.decode(signal, source, finalize=finalize).numpy()


def random_model(family: str, seed: int) -> Any:
    """A model of official size."""
    import torch

    from cosylite.lab.models.config import COSYVOICE_1, COSYVOICE_2, COSYVOICE_3
    from cosylite.lab.models.family import build_family

    torch.manual_seed(seed)
    return build_family({"v1": COSYVOICE_1, "v2": COSYVOICE_2, "v3": COSYVOICE_3}[family])


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
