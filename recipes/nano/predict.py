"""Step 6 of the nano recipe: the mels that the acoustic model predicts, for the last phase of the vocoder. Resumable.

    python recipes/nano/predict.py --work build/nano

Durations are the teacher's, so that the mels lie beside the teacher's samples; all else comes from the flow.
"""

import argparse
import os
import random
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from cosylite.lab.export.nano_bundle import load_acoustic, read_statistics
from cosylite.lab.nano.acoustic import AcousticModel, expand
from cosylite.lab.nano.config import MEL_BANDS
from cosylite.lab.nano.dataset import AcousticBatch, acoustic_batch, acoustic_batches, load_new


@torch.no_grad()
def sample(model: AcousticModel, batch: AcousticBatch, steps: int) -> Tensor:
    """Frames (B, T, 82) by `steps` Euler steps from noise."""
    count = len(batch.lengths)
    _, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
    cond, position = expand(states, batch.durations)
    x = torch.randn_like(batch.frames)
    for step in range(steps):
        velocity, _, _ = model.decoder(x, cond, position, torch.full((1,), step / steps), model.decoder.start(count))
        x = x + velocity / steps
    return x


def main() -> None:
    """Write `predicted/<id>.npy`, float16 (T, 80), normalised, of every utterance that has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifests", nargs="+", default=["manifest.jsonl"])
    parser.add_argument("--steps", type=int, default=1, help="flow evaluations, as in the bundle")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    stats, model = read_statistics(args.work), load_acoustic(args.work)
    folder = args.work / "predicted"
    folder.mkdir(exist_ok=True)
    examples = load_new(args.work, {p.stem for p in folder.glob("*.npy")}, tuple(args.manifests))
    for group in tqdm(list(acoustic_batches(examples, 4000, random.Random(0))), mininterval=5):
        batch = acoustic_batch(group, stats)
        for example, frames, length in zip(group, sample(model, batch, args.steps), batch.counts, strict=True):
            part = folder / f"{example.name}.part"
            with part.open("wb") as out:
                np.save(out, frames[: int(length), :MEL_BANDS].numpy().astype(np.float16))
            os.replace(part, folder / f"{example.name}.npy")


if __name__ == "__main__":
    main()
