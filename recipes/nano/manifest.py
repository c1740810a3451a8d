"""Step 1 of the nano recipe: fetch text and write the list of what each voice will say.

    python recipes/nano/manifest.py --work build/nano --count 4000

The rows are interleaved over voices and languages, so that every beginning of the manifest has the same mixture and a
longer manifest extends a shorter one. Sentences of the held-out part go to `heldout.json`, in the form that
`benchmarks/quality.py --sentences` reads.
"""

import argparse
import hashlib
import json
from pathlib import Path

from tqdm import tqdm

from cosylite.errors import CosyliteError
from cosylite.lab.nano import corpus
from cosylite.text.frontend import Frontend, symbol_sequence
from cosylite.text.symbols import unknown_symbols

PLAN = {
    "en": {"af_heart": 1.0, "am_michael": 0.9, "jm_kumo": 0.4, "jf_nezumi": 0.2},
    "zh": {"zf_xiaoxiao": 1.0, "zm_yunxi": 1.0, "jm_kumo": 0.6},
    "ja": {"jf_alpha": 0.9, "jm_kumo": 0.7, "jf_nezumi": 0.3},
    "ko": {"jf_nezumi": 0.7, "jm_kumo": 0.7, "jf_alpha": 0.5},
    "mixed": {"jm_kumo": 0.9},
}
"""Share of each voice in each language: every voice learns what its teacher reads well."""
MOST_SYMBOLS = 300
HELD_OUT_PER_LANGUAGE = 150


def texts(work: Path, lang: str) -> tuple[list[str], list[str]]:
    """Training and held-out sentences of one language."""
    lists = Path(__file__).parent / "sentences"
    if lang == "mixed":
        spec = json.loads((lists / "mixed.json").read_text("utf-8"))
        found = corpus.fill_patterns(spec["patterns"], spec["slots"], count=2500)
    else:
        written = corpus.read_list(lists / f"{lang}.txt")
        found = corpus.gather(work / "debs", lang)
        for i, sentence in enumerate(written):  # spread over the first tenth
            found.insert(min(len(found), i * 12), sentence)
    return [t for t in found if not corpus.is_held_out(t)], [t for t in found if corpus.is_held_out(t)]


def symbols_of(frontend: Frontend, text: str, lang: str) -> str | None:
    """What the frontend makes of `text`, if it is one sentence of usable length."""
    try:
        sentences = frontend.analyse(text, lang="auto" if lang == "mixed" else lang)
    except CosyliteError:
        return None
    joined = " ".join("".join(symbol for symbol, _ in symbol_sequence(s)).strip() for s in sentences)
    usable = 1 < len(joined) <= MOST_SYMBOLS and not unknown_symbols(joined)
    return joined if usable else None


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
    parser.add_argument("--output", default="manifest.jsonl", help="name of the file below the work folder")
    args = parser.parse_args()
    corpus.fetch_packages(args.work / "debs")
    frontend = Frontend()
    pools, heldout = {}, []
    for lang in PLAN:
        train, held = texts(args.work, lang)
        pools[lang] = iter(train)
        voices = list(PLAN[lang])
        heldout += [
            {"id": f"{lang}-{i:03d}", "lang": lang, "text": t, "voice": voices[i % len(voices)]}
            for i, t in enumerate(held[:HELD_OUT_PER_LANGUAGE])
        ]
    (args.work / "heldout.json").write_text(json.dumps(heldout, ensure_ascii=False, indent=1), "utf-8")
    with (args.work / args.output).open("w", encoding="utf-8") as out:
        for lang, voice in tqdm(schedule(PLAN, args.count), mininterval=5):
            for text in pools[lang]:
                symbols = symbols_of(frontend, text, lang)
                if symbols is not None:
                    name = hashlib.sha256(f"{voice} {symbols}".encode()).hexdigest()[:12]
                    row = {"id": name, "lang": lang, "voice": voice, "text": text, "symbols": symbols}
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                    break


if __name__ == "__main__":
    main()
