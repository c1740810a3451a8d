"""Step 1 of the nano recipe: fetch text and write the list of what each voice will say.

    python recipes/nano/manifest.py --work build/nano --count 4000

The rows are interleaved over voices and languages, so that every beginning of the manifest has the same mixture, and a
longer manifest extends a shorter one as long as the lists do not change. Sentences of the held-out part go to
`heldout.json`, in the form that `benchmarks/quality.py --sentences` reads.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from cosylite.errors import CosyliteError
from cosylite.lab.nano import corpus
from cosylite.text.frontend import Frontend, symbol_sequence
from cosylite.text.symbols import unknown_symbols

PLAN = {
    "en": {
        "af_heart": 0.8, "am_michael": 0.8, "af_bella": 0.7, "jm_kumo": 0.3, "jf_nezumi": 0.25,
        "zf_xiaoxiao": 0.2, "zm_yunxi": 0.2, "jf_alpha": 0.2,
    },
    "zh": {"zf_xiaoxiao": 1.0, "zm_yunxi": 1.2, "jm_kumo": 1.0, "am_michael": 0.5},
    "ja": {"jf_alpha": 0.9, "jm_kumo": 0.7, "jf_nezumi": 0.4, "am_michael": 0.2, "af_heart": 0.15, "zm_yunxi": 0.15},
    "ko": {"jf_nezumi": 0.8, "jm_kumo": 0.8, "jf_alpha": 0.6, "am_michael": 0.25, "af_heart": 0.2},
    "mixed": {"jm_kumo": 1.0, "am_michael": 0.4},
}  # fmt: skip
"""Share of each voice in each language: every voice learns what its teacher reads with less than a tenth of errors."""
WRITTEN_SHARE = 0.6
"""Part of the rows from the hand-written lists, while these last: help texts and verses are not how people talk."""
MOST_SYMBOLS = 300
HELD_OUT_PER_LANGUAGE = 150


UNSEEN = Path(__file__).parents[2] / "benchmarks" / "sentences"


@dataclass
class Pool:
    """Sentences of one language: every voice reads the written ones in its own order; gathered ones are read once."""

    written: list[str]
    gathered: Iterator[str]

    def order(self, voice: str) -> Iterator[str]:
        """Endless as far as the gathered sentences reach."""
        rng = random.Random(voice)
        mine = iter(rng.sample(self.written, len(self.written)))
        while True:
            text = next(mine, None) if rng.random() < WRITTEN_SHARE else None
            text = next(self.gathered, None) if text is None else text
            if text is None:
                return
            yield text


def benchmark_texts() -> set[str]:
    """Sentences of the benchmarks, which are never trained on."""
    return {row["text"] for path in UNSEEN.glob("*.json") for row in json.loads(path.read_text("utf-8"))}


def texts(work: Path, lang: str) -> tuple[list[str], list[str]]:
    """Hand-written and gathered sentences of one language."""
    lists = Path(__file__).parent / "sentences"
    if lang == "mixed":
        spec = json.loads((lists / "mixed.json").read_text("utf-8"))
        gathered = corpus.fill_patterns(spec["patterns"], spec["slots"], count=2500)
    else:
        gathered = corpus.gather(work / "debs", lang)
    return corpus.read_list(lists / f"{lang}.txt"), gathered


def symbols_of(frontend: Frontend, text: str, lang: str) -> str | None:
    """What the frontend makes of `text`, if it is one sentence of usable length."""
    try:
        sentences = frontend.analyse(text, lang="auto" if lang == "mixed" else lang)
    except CosyliteError:
        return None
    joined = " ".join("".join(symbol for symbol, _ in symbol_sequence(s)).strip() for s in sentences)
    usable = 1 < len(joined) <= MOST_SYMBOLS and not unknown_symbols(joined)
    return joined if usable else None


def next_row(
    frontend: Frontend, known: dict[str, str | None], lang: str, voice: str, order: Iterator[str]
) -> dict[str, str] | None:
    """The next usable sentence of `order` as a row of the manifest; `known` keeps the symbols of each text."""
    for text in order:
        key = f"{lang} {text}"
        if key not in known:
            known[key] = symbols_of(frontend, text, lang)
        symbols = known[key]
        if symbols is not None:
            name = hashlib.sha256(f"{voice} {symbols}".encode()).hexdigest()[:12]
            return {"id": name, "lang": lang, "voice": voice, "text": text, "symbols": symbols}
    return None


def schedule(plan: dict[str, dict[str, float]], count: int) -> list[tuple[str, str]]:
    """`count` pairs (language, voice), each pair appearing in proportion to its share at every point."""
    shares = {(lang, voice): share for lang, voices in plan.items() for voice, share in voices.items()}
    made = dict.fromkeys(shares, 0)
    order = []
    for _ in range(count):
        pair = min(shares, key=lambda p: (made[p] + 1) / shares[p])
        made[pair] += 1
        order.append(pair)
    return order


def main() -> None:
    """Write manifest.jsonl and heldout.json below the work folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/nano"))
    parser.add_argument("--count", type=int, default=4000, help="rows to write")
    parser.add_argument("--first", type=int, default=0, help="rows to pass over before the first that is written")
    parser.add_argument("--output", default="manifest.jsonl", help="name of the file below the work folder")
    args = parser.parse_args()
    corpus.fetch_packages(args.work / "debs")
    corpus.fetch_reviews(args.work / "debs")
    frontend, unseen = Frontend(), benchmark_texts()
    orders, heldout = {}, []
    for lang, voices in PLAN.items():
        written, gathered = ([t for t in found if t not in unseen] for found in texts(args.work, lang))
        held = [t for t in written + gathered if corpus.is_held_out(t)][:HELD_OUT_PER_LANGUAGE]
        names = list(voices)
        heldout += [
            {"id": f"{lang}-{i:03d}", "lang": lang, "text": t, "voice": names[i % len(names)]}
            for i, t in enumerate(held)
        ]
        pool = Pool(
            [t for t in written if not corpus.is_held_out(t)], iter([t for t in gathered if not corpus.is_held_out(t)])
        )
        orders |= {(lang, voice): pool.order(voice) for voice in voices}
    (args.work / "heldout.json").write_text(json.dumps(heldout, ensure_ascii=False, indent=1), "utf-8")
    known: dict[str, str | None] = {}
    with (args.work / args.output).open("w", encoding="utf-8") as out:
        for number, (lang, voice) in enumerate(tqdm(schedule(PLAN, args.first + args.count), mininterval=5)):
            row = next_row(frontend, known, lang, voice, orders[lang, voice])
            if row is not None and number >= args.first:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
