"""Step 3 of the nano recipe: durations and F0, without sound, for many more sentences than the teacher can speak.

    python recipes/nano/manifest.py --work build/nano --count 20000 --output prosody.jsonl
    python recipes/nano/prosody.py --work build/nano

The teacher's decoder takes nearly all of its time; what comes before it tells durations and F0 forty times faster.
The text encoder of nano needs exactly that, for far more sentences than the vocoder and the decoder need sound.
Resumable by shard.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

from cosylite.lab.nano import features
from cosylite.lab.nano.dataset import token_ids
from cosylite.lab.nano.teacher import Teacher, fetch

SHARD = 250


def shard(teacher: Teacher, rows: list[dict[str, str]], path: Path) -> None:
    """Write the joined arrays of `rows`, and the lengths that part them: `symbols` and `frames`."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("tokens", "durations", "pitch", "voicing")}
    for row in rows:
        said = teacher.speak(row["symbols"], row["voice"])
        durations = features.frame_durations(said.durations)
        pitch, voicing = features.frame_pitch(said.f0, int(durations.sum()))
        values = (token_ids(row["symbols"]), durations, pitch, voicing.astype(np.uint8))
        for name, value in zip(parts, values, strict=True):
            parts[name].append(value)
    lengths = {"symbols": [len(t) for t in parts["tokens"]], "frames": [len(p) for p in parts["pitch"]]}
    joined = {name: np.concatenate(values) for name, values in parts.items()}
    part = path.with_suffix(".part.npz")
    np.savez(part, voices=np.array([row["voice"] for row in rows]), **lengths, **joined)
    os.replace(part, path)


def main() -> None:
    """Write every shard that is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifest", default="prosody.jsonl")
    args = parser.parse_args()
    fetch(args.work / "teacher")
    teacher = Teacher(args.work / "teacher", threads=1, prosody_only=True)
    folder = args.work / "prosody"
    folder.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in (args.work / args.manifest).read_text("utf-8").splitlines()]
    for start in tqdm(range(0, len(rows), SHARD), unit="shard"):
        path = folder / f"{start:06d}.npz"
        if not path.exists():
            shard(teacher, rows[start : start + SHARD], path)


if __name__ == "__main__":
    main()
