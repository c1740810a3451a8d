"""Step 7 of the nano recipe: export the averaged weights to a bundle.

python recipes/nano/export.py --work build/nano --output src/cosylite/bundles/nano --precision int8
"""

import argparse
import tempfile
from pathlib import Path

import onnx

from cosylite.lab.export.bundle import replace_folder
from cosylite.lab.export.nano_bundle import (
    NanoNetworks,
    duration_scale,
    even_times,
    load_models,
    read_statistics,
    silent_frame,
    write_facts,
    write_graphs,
)
from cosylite.lab.export.quantise import quantise
from cosylite.lab.nano.dataset import load_new


def main() -> None:
    """Write the bundle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--manifests", nargs="+", default=["manifest.jsonl"])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    parser.add_argument("--steps", type=int, default=1, help="flow evaluations")
    args = parser.parse_args()
    examples = load_new(args.work, set(), tuple(args.manifests))
    stats = read_statistics(args.work)
    acoustic, vocoder = load_models(args.work, stats)
    scale = duration_scale(acoustic, examples[:160], stats)
    print(f"durations are scaled by {scale:.4f}")
    networks = NanoNetworks(acoustic, vocoder, stats, scale, silent_frame(examples, stats))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "bundle"
        folder.mkdir()
        for name, model in write_graphs(networks, folder).items():
            if args.precision == "int8":
                onnx.save(quantise(model), str(folder / f"{name}.onnx"))
        card = Path(__file__).parent / "CARD.md"
        (folder / "CARD.md").write_text(card.read_text("utf-8"), "utf-8")
        write_facts(networks, folder, even_times(args.steps))
        replace_folder(folder, args.output)
    print(f"{args.output}: {sum(p.stat().st_size for p in args.output.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
