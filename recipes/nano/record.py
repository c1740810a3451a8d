"""Step 8 of the nano recipe: write what the benchmarks measured into the bundle's manifest.

python recipes/nano/record.py --bundle src/cosylite/bundles/nano --speed speed.json --quality quality.json
"""

import argparse
import json
from pathlib import Path
from typing import Any

KEPT = {
    "speed": ("name", "rtf", "ttfa_ms_p50", "ttfa_ms_p95", "load_s", "peak_rss_mb", "size_mb", "speedup"),
    "quality": (
        "name",
        "sentences",
        "error_rate",
        "error_unit",
        "teacher_error_rate",
        "dnsmos",
        "teacher_dnsmos",
        "distillmos",
        "teacher_distillmos",
        "likeness",
    ),
}


def summary(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Machine, threads and the measured columns of a benchmark's document."""
    rows = [
        {k: round(v, 4) if isinstance(v, float) else v for k in keys if (v := row.get(k)) is not None}
        for row in document["rows"]
    ]
    facts = {"commit": document["commit"], "machine": document["machine"], "threads": document["settings"]["threads"]}
    return {**facts, "rows": rows}


def main() -> None:
    """Replace `measured`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--speed", type=Path, required=True)
    parser.add_argument("--quality", type=Path, required=True)
    args = parser.parse_args()
    path = args.bundle / "bundle.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["measured"] = {
        name: summary(json.loads(file.read_text("utf-8")), KEPT[name])
        for name, file in (("speed", args.speed), ("quality", args.quality))
    }
    path.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
