"""Step 6 of the nano recipe: export the averaged weights to a bundle.

python recipes/nano/export.py --work build/nano --output src/cosylite/bundles/nano --precision int8
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from train_vocoder import load_statistics

from cosylite.lab.export.bundle import replace_folder, write_manifest
from cosylite.lab.export.nano import export, nano_graphs
from cosylite.lab.export.quantise import quantise
from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.config import AcousticConfig, FeatureStatistics, VocoderConfig
from cosylite.lab.nano.dataset import VOICES, Example, acoustic_batch, load_new
from cosylite.lab.nano.vocoder import Vocoder
from cosylite.text.symbols import SYMBOLS

SPEAKERS: dict[str, dict[str, Any]] = {
    "jm_kumo": {"gender": "male", "native": "ja", "languages": ["ja", "zh", "en", "ko"]},
    "jf_nezumi": {"gender": "female", "native": "ja", "languages": ["ja", "en", "ko"]},
    "jf_alpha": {"gender": "female", "native": "ja", "languages": ["ja", "ko"]},
    "af_heart": {"gender": "female", "native": "en", "languages": ["en"]},
    "am_michael": {"gender": "male", "native": "en", "languages": ["en"]},
    "zf_xiaoxiao": {"gender": "female", "native": "zh", "languages": ["zh"]},
    "zm_yunxi": {"gender": "male", "native": "zh", "languages": ["zh"]},
}
"""Languages are those the voice was trained on."""
DEFAULTS = {"zh": "zf_xiaoxiao", "en": "af_heart", "ja": "jf_alpha", "ko": "jf_nezumi", "mixed": "jm_kumo"}


def tupled(values: dict[str, Any]) -> dict[str, Any]:
    """Lists of a checkpoint's config back to tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def load_models(work: Path, stats: FeatureStatistics) -> tuple[AcousticModel, Vocoder]:
    """The averaged weights of both checkpoints."""
    saved = torch.load(work / "acoustic.pt", weights_only=True)
    acoustic = AcousticModel(AcousticConfig(**tupled(saved["config"])))
    acoustic.load_state_dict(saved["average"])
    print(f"acoustic model after {saved['step']} steps")
    saved = torch.load(work / "vocoder.pt", weights_only=True)
    vocoder = Vocoder(VocoderConfig(**tupled(saved["config"])), np.array(stats.mel_mean), np.array(stats.mel_std))
    vocoder.load_state_dict(saved["average"])
    print(f"vocoder after {saved['step']} steps")
    return acoustic.eval(), vocoder.eval()


@torch.no_grad()
def duration_scale(model: AcousticModel, examples: list[Example], stats: FeatureStatistics) -> float:
    """Factor that makes the total of the predicted durations that of the teacher's: exp(mean log) falls short."""
    spoken = predicted = 0.0
    for i in range(0, len(examples), 16):
        batch = acoustic_batch(examples[i : i + 16], stats)
        logs, _ = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
        inside = torch.arange(logs.shape[1])[None] < batch.lengths[:, None]
        predicted += float((logs.exp() * inside).sum())
        spoken += float(batch.durations.sum())
    return spoken / predicted


def main() -> None:
    """Write the bundle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifests", nargs="+", default=["manifest.jsonl"])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    parser.add_argument("--steps", type=int, default=4, help="flow evaluations")
    args = parser.parse_args()
    examples = load_new(args.work, set(), tuple(args.manifests))
    stats = load_statistics(args.work, examples)
    acoustic, vocoder = load_models(args.work, stats)
    scale = duration_scale(acoustic, examples[:160], stats)
    print(f"durations are scaled by {scale:.4f}")
    edges = np.stack([e.mel[0].astype(np.float32) for e in examples])
    pad = (edges.mean(0) - np.array(stats.mel_mean)) / np.array(stats.mel_std)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "bundle"
        folder.mkdir()
        for name, graph in nano_graphs(acoustic, vocoder, scale).items():
            path = folder / f"{name}.onnx"
            model = export(graph, path)
            if args.precision == "int8":
                onnx.save(quantise(model), str(path))
        np.save(folder / "voices.npy", acoustic.voices.weight.detach().numpy().astype(np.float32))
        card = Path(__file__).parent / "CARD.md"
        (folder / "CARD.md").write_text(card.read_text("utf-8"), "utf-8")
        write_manifest(folder, facts(stats, vocoder.config.lookahead, pad, args.steps))
        replace_folder(folder, args.output)
    print(f"{args.output}: {sum(p.stat().st_size for p in args.output.iterdir()) / 1e6:.1f} MB")


def facts(stats: FeatureStatistics, lookahead: int, pad: np.ndarray, steps: int) -> dict[str, Any]:
    """What the manifest says besides files and revision."""
    return {
        "family": "nano",
        "name": "nano",
        "licence": "Apache-2.0",
        "sample_rate": 24_000,
        "languages": ["zh", "en", "ja", "ko"],
        "symbols": list(SYMBOLS),
        "stages": {name: f"{name}.onnx" for name in ("text", "flow", "vocoder")},
        "mel": {"bands": 80, "n_fft": 1920, "hop": 480, "mean": list(stats.mel_mean), "std": list(stats.mel_std)},
        "pitch": {"mean": stats.pitch_mean, "std": stats.pitch_std},
        "flow": {"times": [i / steps for i in range(steps + 1)]},
        "vocoder": {"lookahead": lookahead, "pad": [float(v) for v in pad]},
        "voices": {
            "file": "voices.npy",
            "list": [{"name": name, **SPEAKERS[name], "row": row} for row, name in enumerate(VOICES)],
            "default": DEFAULTS,
        },
        "measured": {},
    }


if __name__ == "__main__":
    main()
