"""Checkpoints from a bundle, to go on training where the work folder of the last training is gone.

    python recipes/nano/recover.py --bundle src/cosylite/bundles/nano --work build/nano

Weights of an int8 bundle come back with its rounding, which a few steps of training undo; optimisers and discriminators
begin anew. Writes `acoustic_start.pt` and `vocoder_start.pt` for `--start-from`, and `statistics.json`.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from cosylite.lab.export.nano_bundle import read_statistics
from cosylite.lab.export.recover import fill, weights_of
from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.config import AcousticConfig, VocoderConfig
from cosylite.lab.nano.vocoder import Vocoder


def main() -> None:
    """Write the checkpoints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("src/cosylite/bundles/nano"))
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    args = parser.parse_args()
    facts = json.loads((args.bundle / "bundle.json").read_text("utf-8"))
    mel, pitch = facts["mel"], facts["pitch"]
    args.work.mkdir(parents=True, exist_ok=True)
    known = {"mel_mean": mel["mean"], "mel_std": mel["std"], "pitch_mean": pitch["mean"], "pitch_std": pitch["std"]}
    (args.work / "statistics.json").write_text(json.dumps(known), "utf-8")
    stats = read_statistics(args.work)
    voices = np.load(args.bundle / "voices.npy")
    acoustic = AcousticModel(AcousticConfig(symbols=len(facts["symbols"]), voices=len(voices)))
    graphs = weights_of(args.bundle / "text.onnx") | weights_of(args.bundle / "flow.onnx")
    fill(acoustic, graphs | {"voices.weight": voices})
    vocoder = Vocoder(VocoderConfig(), np.array(stats.mel_mean), np.array(stats.mel_std))
    fill(vocoder, weights_of(args.bundle / "vocoder.onnx"), ("band_mean", "band_std", "band_level", "envelope"))
    for name, model in (("acoustic", acoustic), ("vocoder", vocoder)):
        state = {"step": 0, "config": asdict(model.config), "average": model.state_dict()}
        torch.save(state, args.work / f"{name}_start.pt")
        print(f"{args.work / name}_start.pt: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} million parameters")


if __name__ == "__main__":
    main()
