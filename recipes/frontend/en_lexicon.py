"""Pack the English pronunciation lexicon: misaki 0.9.4 us_gold and us_silver (Apache-2.0) into one sorted xz file.

    pip install --no-deps misaki==0.9.4
    python recipes/frontend/en_lexicon.py

Each line of the packed text is `key TAB phones [TAB part-of-speech:phones ...]`, sorted by UTF-8 bytes, so that the
runtime can search the raw bytes without building a dictionary. Takes about five seconds.
"""

import argparse
import importlib.util
import json
import lzma
from pathlib import Path

from cosylite.text.symbols import unknown_symbols

TARGET = Path(__file__).resolve().parents[2] / "src" / "cosylite" / "text" / "data" / "en_lexicon.xz"
Entry = str | dict[str, str | None]


def misaki_folder() -> Path:
    """Folder of the installed misaki package (its code is never imported: it would need spaCy)."""
    spec = importlib.util.find_spec("misaki")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("misaki is not installed: pip install --no-deps misaki==0.9.4")
    return Path(spec.submodule_search_locations[0])


def line(key: str, entry: Entry) -> str | None:
    """One packed line, or None for entries that have no usable phones."""
    variants = {"DEFAULT": entry} if isinstance(entry, str) else {k: v for k, v in entry.items() if v}
    default = variants.pop("DEFAULT", None)
    if not default or "\t" in key or unknown_symbols("".join([default, *filter(None, variants.values())])):
        return None
    extra = [f"{tag}:{phones}" for tag, phones in sorted(variants.items()) if phones != default]
    return "\t".join([key, default, *extra])


def pack(folder: Path) -> bytes:
    """The packed text: gold entries win over silver ones."""
    entries: dict[str, Entry] = {}
    for name in ("us_silver", "us_gold"):
        entries.update(json.loads((folder / "data" / f"{name}.json").read_text(encoding="utf-8")))
    lines = [packed.encode() for key, entry in entries.items() if (packed := line(key, entry))]
    return b"\n" + b"\n".join(sorted(lines)) + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    raw = pack(misaki_folder())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_CRC32))
    print(f"{arguments.out}: {raw.count(10) - 1} entries, {len(raw)} bytes raw, {arguments.out.stat().st_size} packed")


if __name__ == "__main__":
    main()
