"""Step 4 of the nano recipe: train the vocoder on the teacher's speech. Resumable; a checkpoint every few minutes.

    python recipes/nano/train_vocoder.py --work build/nano --steps 12000 --adversarial-from 5000

Last phase, on mels that the acoustic model predicts (`predict.py` writes them), the other crops on the teacher's:

    python recipes/nano/train_vocoder.py --work build/nano --steps 15000 --predicted 0.7
"""

import argparse
import json
import os
import random
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.lab.export.nano_bundle import read_statistics
from cosylite.lab.nano.config import FeatureStatistics, VocoderConfig
from cosylite.lab.nano.crops import TAIL, WARM, CropBatch, crop_batch
from cosylite.lab.nano.dataset import Example, load_new, statistics
from cosylite.lab.nano.discriminators import Discriminators
from cosylite.lab.nano.losses import discriminator_loss, feature_loss, generator_loss, mel_loss, spectral_loss
from cosylite.lab.nano.training import Average, Log, Schedule, clip, save, set_rate
from cosylite.lab.nano.vocoder import Vocoder, waveform


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifests", nargs="+", default=["manifest.jsonl"])
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--adversarial-from", type=int, default=5_000)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--frames", type=int, default=32, help="judged frames in a crop (20 ms each)")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--save-minutes", type=float, default=5)
    parser.add_argument("--predicted", type=float, default=0.0, help="share of crops that read predicted mels")
    parser.add_argument("--start-from", type=Path, default=None, help="checkpoint whose weights a new training takes")
    parser.add_argument("--rescan", type=int, default=200, help="steps after which new utterances are looked for")
    return parser.parse_args()


def load_statistics(work: Path, examples: list[Example]) -> FeatureStatistics:
    """Statistics fixed at the first training of either model."""
    path = work / "statistics.json"
    if not path.exists():
        path.write_text(json.dumps(asdict(statistics(examples))), "utf-8")
    return read_statistics(work)


def speak(model: Vocoder, batch: CropBatch) -> Tensor:
    """Judged samples (B, N) of a batch."""
    with torch.autocast("cpu", torch.bfloat16):
        spectrum, _ = model(batch.mel, batch.pitch, batch.harmonic, batch.noise, model.start(len(batch.mel)))
    late = 2 * model.config.lookahead
    samples = waveform(spectrum[:, late:].float())
    return samples[:, WARM * 480 : samples.shape[1] - TAIL * 480]


def predicted_mels(
    folder: Path, examples: list[Example], share: float, rng: random.Random
) -> dict[str, NDArray[np.float16]]:
    """Predicted mels of about `share` of `examples`, as far as `folder` has them."""
    paths = [folder / f"{e.name}.npy" for e in examples if rng.random() < share]
    return {path.stem: np.load(path) for path in paths if path.exists()}


def main() -> None:
    """Train until `--steps`."""
    args = arguments()
    os.nice(args.nice)
    torch.set_num_threads(args.threads)
    known: set[str] = set()
    examples = load_new(args.work, known, tuple(args.manifests))
    stats = load_statistics(args.work, examples)
    torch.manual_seed(0)
    model = Vocoder(VocoderConfig(), np.array(stats.mel_mean), np.array(stats.mel_std))
    path = args.work / "vocoder.pt"
    if args.start_from is not None and not path.exists():
        model.load_state_dict(torch.load(args.start_from, weights_only=True)["average"])
    judges = Discriminators()
    average = Average(model)
    optimiser = torch.optim.AdamW(model.parameters(), args.rate, betas=(0.8, 0.99), weight_decay=0.01)
    judging = torch.optim.AdamW(judges.parameters(), 2e-4, betas=(0.8, 0.99))
    schedule = Schedule(args.rate, 200, args.steps)
    step = 0
    parts = {"model": model, "judges": judges, "average": average.model, "optimiser": optimiser, "judging": judging}
    if path.exists():
        state = torch.load(path, weights_only=True)
        step, average.steps = state["step"], state["step"]
        for name, part in parts.items():
            part.load_state_dict(state[name])
    log = Log(args.work / "vocoder.jsonl", 50)
    saved = time.monotonic()
    while step < args.steps:
        if step % args.rescan == 0:
            examples += load_new(args.work, known, tuple(args.manifests))
        rng = random.Random(step)
        chosen = rng.choices(examples, k=args.batch)
        mels = predicted_mels(args.work / "predicted", chosen, args.predicted, rng)
        batch = crop_batch(chosen, stats, args.frames, model.config.lookahead, rng, mels)
        set_rate(optimiser, schedule.rate(step))
        made = speak(model, batch)
        losses: dict[str, Tensor] = {
            "mel": mel_loss(made, batch.samples),
            "spectral": spectral_loss(made, batch.samples),
        }
        total = losses["mel"] + losses["spectral"]
        if step >= args.adversarial_from:
            judges.requires_grad_(True)
            real_scores, real_features = judges(batch.samples)
            made_scores, _ = judges(made.detach())
            losses["judge"] = discriminator_loss(real_scores, made_scores)
            judging.zero_grad()
            losses["judge"].backward()
            judging.step()
            judges.requires_grad_(False)
            made_scores, made_features = judges(made)
            losses["fool"], losses["features"] = generator_loss(made_scores), feature_loss(real_features, made_features)
            total = 3 * total + 0.1 * losses["fool"] + 0.2 * losses["features"]
        optimiser.zero_grad()
        total.backward()
        clip(model.parameters(), 5.0)
        optimiser.step()
        average.update(model)
        step += 1
        log.add(step, {name: float(value.detach()) for name, value in losses.items()} | {"utterances": len(examples)})
        if step == args.steps or time.monotonic() - saved > args.save_minutes * 60:
            save(path, {"step": step, "config": asdict(model.config)} | {n: p.state_dict() for n, p in parts.items()})
            saved = time.monotonic()


if __name__ == "__main__":
    main()
