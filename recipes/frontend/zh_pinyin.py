"""Pack Mandarin readings: the characters and phrases of pypinyin 0.55.0 (MIT) into one sorted xz file.

    pip install pypinyin==0.55.0
    python recipes/frontend/zh_pinyin.py

Each line of the packed text is `characters TAB syllable [syllable ...]` with tone digits (5: neutral), sorted by UTF-8
bytes, so that the runtime can search the raw bytes. Takes about ten seconds.
"""

import argparse
import lzma
from collections.abc import Iterator
from pathlib import Path

from pypinyin import Style, lazy_pinyin
from pypinyin.constants import PHRASES_DICT, PINYIN_DICT

TARGET = Path(__file__).resolve().parents[2] / "src" / "cosylite" / "text" / "data" / "zh_pinyin.xz"


def readings() -> Iterator[tuple[str, list[str]]]:
    """Characters and phrases, each with its most frequent reading."""
    for han in (*map(chr, PINYIN_DICT), *PHRASES_DICT):
        syllables = lazy_pinyin([han], style=Style.TONE3, neutral_tone_with_five=True, errors="ignore")
        if len(syllables) == len(han):
            yield han, syllables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    lines = [f"{han}\t{' '.join(syllables)}".encode() for han, syllables in readings()]
    raw = b"\n" + b"\n".join(sorted(lines)) + b"\n"
    arguments.out.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_CRC32))
    print(f"{arguments.out}: {len(lines)} entries, {len(raw)} bytes raw, {arguments.out.stat().st_size} packed")


if __name__ == "__main__":
    main()
