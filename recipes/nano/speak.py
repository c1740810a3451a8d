"""Step 2 of the nano recipe: the teacher speaks the manifest. Resumable: utterances that have a file are skipped.

With OpenVINO installed (`pip install openvino`) the teacher's decoder runs in bfloat16, about three times faster.

python recipes/nano/speak.py --work build/nano --workers 2
"""

import argparse
import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

from cosylite.lab.nano import features, teacher_fast
from cosylite.lab.nano.teacher import SAMPLE_RATE, Teacher, fetch


def speak(teacher: Teacher, row: dict[str, str], folder: Path) -> None:
    """Write `folder/<id>.npz`: int16 samples, float16 mel (T, 80), log F0, voicing, durations in frames (P + 2,)."""
    said = teacher.speak(row["symbols"], row["voice"])
    durations = features.frame_durations(said.durations)
    frames = int(durations.sum())
    samples = np.pad(said.samples, (0, max(0, frames * features.HOP - len(said.samples))))[: frames * features.HOP]
    pitch, voicing = features.frame_pitch(said.f0, frames)
    data = {
        "samples": np.round(np.clip(samples, -1, 1) * 32767).astype(np.int16),
        "mel": features.log_mel(samples.astype(np.float32)).astype(np.float16),
        "pitch": pitch,
        "voicing": voicing.astype(np.uint8),
        "durations": durations,
    }
    part = folder / f"{row['id']}.part.npz"
    np.savez(part, **data)
    os.replace(part, folder / f"{row['id']}.npz")


def work(rows: list[dict[str, str]], folder: Path, teacher_folder: Path, done: "multiprocessing.Queue[float]") -> None:
    """One worker: speaks its share, reports seconds of audio."""
    os.nice(10)
    make = teacher_fast.FastTeacher if teacher_fast.available() else Teacher
    teacher = make(teacher_folder, threads=1)
    for row in rows:
        speak(teacher, row, folder)
        done.put(float(len(row["symbols"])))


def main() -> None:
    """Speak every row of the manifest that has no file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifest", default="manifest.jsonl")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=int, default=None, help="speak only the first N rows")
    args = parser.parse_args()
    fetch(args.work / "teacher")
    folder = args.work / "utterances"
    folder.mkdir(parents=True, exist_ok=True)
    if teacher_fast.available():
        teacher_fast.cut(args.work / "teacher")
    rows = [json.loads(line) for line in (args.work / args.manifest).read_text("utf-8").splitlines()][: args.limit]
    todo = [row for row in rows if not (folder / f"{row['id']}.npz").exists()]
    done: multiprocessing.Queue[float] = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=work, args=(todo[i :: args.workers], folder, args.work / "teacher", done))
        for i in range(args.workers)
    ]
    for worker in workers:
        worker.start()
    bar = tqdm(total=len(rows), initial=len(rows) - len(todo), unit="utt", mininterval=5)
    for _ in todo:
        done.get()
        bar.update()
    for worker in workers:
        worker.join()
    seconds = sum(np.load(p)["samples"].size for p in folder.glob("*.npz")) / SAMPLE_RATE
    print(f"{len(list(folder.glob('*.npz')))} utterances, {seconds / 60:.1f} minutes of speech")


if __name__ == "__main__":
    main()
