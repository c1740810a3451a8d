"""Step 5 of the nano recipe: train text encoder, durations and flow-matching decoder. Resumable.

    python recipes/nano/train_acoustic.py --work build/nano --steps 20000

`--start-from` begins with the averaged weights of another checkpoint, which may know fewer voices.
"""

import argparse
import itertools
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor
from train_vocoder import load_statistics

from cosylite.lab.nano.acoustic import AcousticModel, expand
from cosylite.lab.nano.config import MEL_BANDS, AcousticConfig, FeatureStatistics
from cosylite.lab.nano.dataset import (
    VOICES,
    AcousticBatch,
    Example,
    Prosody,
    acoustic_batch,
    acoustic_batches,
    load_new,
    load_prosody,
    prosody_batch,
)
from cosylite.lab.nano.training import Average, Log, Schedule, clip, masked_mean, save, set_rate
from cosylite.text.symbols import SYMBOLS


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifests", nargs="+", default=["manifest.jsonl"])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--frames", type=int, default=3000, help="padded frames in a batch (20 ms each)")
    parser.add_argument("--prosody", type=int, default=12, help="sentences without sound in a step")
    parser.add_argument("--rate", type=float, default=8e-4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--save-minutes", type=float, default=5)
    parser.add_argument("--start-from", type=Path, default=None, help="checkpoint whose weights a new training takes")
    return parser.parse_args()


def path_times(count: int) -> Tensor:
    """Times (count,) of the rows: three quarters at the start, which is all that one step sees, the rest up to 0.9."""
    return torch.where(torch.rand(count) < 3 / 4, torch.zeros(count), 0.9 * torch.rand(count))


def losses_of(model: AcousticModel, batch: AcousticBatch) -> dict[str, Tensor]:
    """Losses of the end of the path, of the direct guess and of the durations of one batch."""
    count = len(batch.lengths)
    with torch.autocast("cpu", torch.bfloat16):
        log_durations, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
        cond, position = expand(states, batch.durations)
        noise = torch.randn_like(batch.frames)
        time_ = path_times(count)
        mixed = noise + (batch.frames - noise) * time_[:, None, None]
        velocity, guess, _ = model.decoder(mixed, cond, position, time_, model.decoder.start(count))
    inside = (torch.arange(batch.frames.shape[1])[None] < batch.counts[:, None]).float()
    symbols = (torch.arange(batch.tokens.shape[1])[None] < batch.lengths[:, None]).float()
    wanted = batch.durations.clamp(min=1).float().log()
    off = (velocity.float() - (batch.frames - noise)) * (1 - time_)[:, None, None]
    return {
        "end": masked_mean(off.square() / (1 - time_)[:, None, None], inside),
        "guess": masked_mean((guess.float() - batch.frames).abs(), inside),
        "duration": masked_mean((log_durations.float() - wanted).square(), symbols),
    }


def prosody_losses(model: AcousticModel, batch: AcousticBatch) -> dict[str, Tensor]:
    """Duration loss, and guess loss of log F0 and voicing, of sentences without sound."""
    with torch.autocast("cpu", torch.bfloat16):
        log_durations, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
        cond, position = expand(states, batch.durations)
        guess = model.decoder.guess(torch.cat([cond, position], dim=-1))[..., MEL_BANDS:]
    inside = (torch.arange(batch.frames.shape[1])[None] < batch.counts[:, None]).float()
    symbols = (torch.arange(batch.tokens.shape[1])[None] < batch.lengths[:, None]).float()
    wanted = batch.durations.clamp(min=1).float().log()
    return {
        "more_guess": masked_mean((guess.float() - batch.frames[..., MEL_BANDS:]).abs(), inside),
        "more_duration": masked_mean((log_durations.float() - wanted).square(), symbols),
    }


def endless(work: Path, manifests: tuple[str, ...], most_frames: int, seed: int) -> Iterator[tuple[list[Example], int]]:
    """Batches without end; new utterances join at every epoch."""
    known: set[str] = set()
    examples: list[Example] = []
    for epoch in itertools.count():
        examples += load_new(work, known, manifests)
        for batch in acoustic_batches(examples, most_frames, random.Random(seed * 10_000 + epoch)):
            yield batch, len(examples)


def start_from(model: AcousticModel, path: Path) -> None:
    """Take the averaged weights of the checkpoint at `path`; voices it does not know begin as the mean of its own."""
    weights = torch.load(path, weights_only=True)["average"]
    known = weights["voices.weight"]
    missing = len(model.voices.weight) - len(known)
    weights["voices.weight"] = torch.cat([known, known.mean(0, keepdim=True).expand(missing, -1)])
    model.load_state_dict(weights)


def main() -> None:
    """Train until `--steps`."""
    args = arguments()
    os.nice(args.nice)
    torch.set_num_threads(args.threads)
    manifests = tuple(args.manifests)
    stats: FeatureStatistics = load_statistics(args.work, [])
    torch.manual_seed(0)
    model = AcousticModel(AcousticConfig(symbols=len(SYMBOLS), voices=len(VOICES)))
    path = args.work / "acoustic.pt"
    if args.start_from is not None and not path.exists():
        start_from(model, args.start_from)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} million parameters", flush=True)
    average = Average(model)
    optimiser = torch.optim.AdamW(model.parameters(), args.rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = Schedule(args.rate, 500, args.steps)
    step = 0
    parts = {"model": model, "average": average.model, "optimiser": optimiser}
    if path.exists():
        state = torch.load(path, weights_only=True)
        step, average.steps = state["step"], state["step"]
        for name, part in parts.items():
            part.load_state_dict(state[name])
    torch.manual_seed(step)
    prosody: list[Prosody] = []
    shards: set[str] = set()
    log = Log(args.work / "acoustic.jsonl", 50)
    saved = time.monotonic()
    for examples, utterances in endless(args.work, manifests, args.frames, seed=step):
        set_rate(optimiser, schedule.rate(step))
        losses = losses_of(model, acoustic_batch(examples, stats))
        total = losses["end"] + 0.3 * losses["guess"] + 0.3 * losses["duration"]
        if step % 200 == 0 or not prosody:
            prosody += load_prosody(args.work / "prosody", shards)
        if prosody:
            more = random.Random(step).choices(prosody, k=args.prosody)
            losses |= prosody_losses(model, prosody_batch(more, stats))
            total = total + 0.3 * losses["more_guess"] + losses["more_duration"]
        optimiser.zero_grad()
        total.backward()
        norm = clip(model.parameters(), 1.0)
        optimiser.step()
        average.update(model)
        step += 1
        log.add(
            step, {n: float(v.detach()) for n, v in losses.items()} | {"norm": float(norm), "utterances": utterances}
        )
        if step >= args.steps or time.monotonic() - saved > args.save_minutes * 60:
            config = asdict(model.config)
            save(path, {"step": step, "config": config} | {n: p.state_dict() for n, p in parts.items()})
            saved = time.monotonic()
        if step >= args.steps:
            break


if __name__ == "__main__":
    main()
