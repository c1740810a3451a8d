"""How well the text frontend reads: a score per list of a cases file, the failures, and its speed.

    python benchmarks/frontend.py [--cases FILE] [--json FILE]

The cases file holds seven lists (see `notes` in `tests/data/frontend_cases.json` for how answers are compared);
`COSYLITE_FRONTEND_CASES` names another one. Only the public `Frontend` is used.
"""

import json
import os
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosylite.errors import CosyliteError
from cosylite.text.frontend import Frontend
from cosylite.text.types import LANGS, Sentence, Span, Word

Case = Mapping[str, Any]
DEFAULT_CASES = Path(__file__).resolve().parent.parent / "tests" / "data" / "frontend_cases.json"
MARKS = {
    "normalisation": (95, 80),
    "zh_polyphones": (92, 85),
    "ja_readings": (80, 75),
    "ko_pronunciation": (93, 85),
    "en_heteronyms": (85, 75),
    "mixed_segmentation": (95, 85),
    "han_only": (80, 75),
}
"""Percent that must be right: in the file that comes with cosylite, and in any other."""
SPEED_TEXTS = {
    "en": "The quick brown fox jumped over 12 lazy dogs on May 3, 2024, and nobody really minded. ",
    "zh": "今天天气真不错，我们一共走了12公里，花了三个小时才回到家里。",
    "ja": "今日はとても天気がよかったので、友達と一緒に公園まで3時間ほど歩きました。",
    "ko": "오늘은 날씨가 정말 좋아서 친구와 함께 공원까지 3시간 동안 걸었습니다. ",
}


@dataclass(frozen=True)
class Score:
    """Right answers of one list, and a line for every wrong one."""

    name: str
    total: int
    failures: tuple[str, ...]

    @property
    def percent(self) -> float:
        """Share of right answers; a list without cases is right."""
        return 100.0 * (self.total - len(self.failures)) / self.total if self.total else 100.0


def cases_path() -> Path:
    """The file that `COSYLITE_FRONTEND_CASES` names, or the one in `tests/data`."""
    return Path(os.environ.get("COSYLITE_FRONTEND_CASES") or DEFAULT_CASES)


def canonical(text: str, lang: str) -> str:
    """NFKC, lower case, letters and digits only; English without "and", hyphens and apostrophes."""
    text = unicodedata.normalize("NFKC", text).lower()
    if lang == "en":
        text = re.sub(r"\band\b", "", text)
    return "".join(character for character in text if character.isalnum())


def score(name: str, cases: list[Case], frontend: Frontend) -> Score:
    """Run the cases of one list."""
    check = _CHECKS[name]
    failures = []
    for case in cases:
        try:
            right, got = check(frontend, case)
        except CosyliteError as error:
            right, got = False, str(error)
        if not right:
            failures.append(f"{case['text']}  ->  {got}  (want {_wanted(case)})")
    return Score(name, len(cases), tuple(failures))


def score_all(frontend: Frontend, lists: Mapping[str, Any]) -> list[Score]:
    """Scores of all lists that the file has, in the order of `MARKS`."""
    return [score(name, lists[name], frontend) for name in MARKS if name in lists]


def _wanted(case: Case) -> str:
    keys = ("accept", "pinyin", "kana", "pron", "kokoro", "segments", "lang")
    return str(next(case[key] for key in keys if key in case))


def _spans(sentences: list[Sentence]) -> list[Span]:
    """Spans of the text; sentence ends do not divide them."""
    spans: list[Span] = []
    for span in (spoken.span for sentence in sentences for spoken in sentence.spans):
        if spans and spans[-1].lang == span.lang:
            spans[-1] = Span(span.lang, spans[-1].start, span.end, spans[-1].text + span.text)
        else:
            spans.append(span)
    return spans


def _words(sentences: list[Sentence]) -> list[Word]:
    return [word for sentence in sentences for word in sentence.words]


def _normalisation(frontend: Frontend, case: Case) -> tuple[bool, str]:
    sentences = frontend.analyse(case["text"], lang=case["lang"])
    if case["lang"] == "ja":
        output = "".join(word.reading for word in _words(sentences))
    else:
        output = " ".join(spoken.normalised for sentence in sentences for spoken in sentence.spans)
    got = canonical(output, case["lang"])
    return re.fullmatch(case["accept"], got) is not None, got


def _polyphone(frontend: Frontend, case: Case) -> tuple[bool, str]:
    index = case["index"]
    word = next((w for w in _words(frontend.analyse(case["text"], lang="zh")) if w.start <= index < w.end), None)
    syllables = word.reading.split() if word else []
    at = index - word.start if word else 0
    got = syllables[at] if at < len(syllables) else ""
    return got == case["pinyin"], got


def _ja_reading(frontend: Frontend, case: Case) -> tuple[bool, str]:
    got = canonical("".join(word.reading for word in _words(frontend.analyse(case["text"], lang="ja"))), "ja")
    return got == canonical(case["kana"], "ja"), got


def _ko_pronunciation(frontend: Frontend, case: Case) -> tuple[bool, str]:
    got = canonical("".join(word.reading for word in _words(frontend.analyse(case["text"], lang="ko"))), "ko")
    return got == canonical(case["pron"], "ko"), got


def _heteronym(frontend: Frontend, case: Case) -> tuple[bool, str]:
    words = _words(frontend.analyse(case["text"]))
    got = next((w.symbols for w in words if w.text.lower() == case["word"].lower()), "")
    return got == case["kokoro"], got


def _segmentation(frontend: Frontend, case: Case) -> tuple[bool, str]:
    got = [(span.lang, span.text.strip()) for span in _spans(frontend.analyse(case["text"]))]
    want = [(lang, text.strip()) for lang, text in case["segments"]]
    right = len(got) == len(want) and all(g[1] == w[1] and w[0] in (g[0], "?") for g, w in zip(got, want, strict=True))
    return right, str(got)


def _han_only(frontend: Frontend, case: Case) -> tuple[bool, str]:
    got = sorted({span.lang for span in _spans(frontend.analyse(case["text"]))})
    return got == [case["lang"]], "+".join(got)


_CHECKS: dict[str, Callable[[Frontend, Case], tuple[bool, str]]] = {
    "normalisation": _normalisation,
    "zh_polyphones": _polyphone,
    "ja_readings": _ja_reading,
    "ko_pronunciation": _ko_pronunciation,
    "en_heteronyms": _heteronym,
    "mixed_segmentation": _segmentation,
    "han_only": _han_only,
}


def characters_per_second(frontend: Frontend, lang: str, seconds: float = 1.0) -> float:
    """Speed on a text of one language, after loading."""
    text = SPEED_TEXTS[lang] * 4
    frontend.analyse(text)
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        frontend.analyse(text)
        done += len(text)
    return done / (time.perf_counter() - start)


def _loading_seconds(lang: str) -> float:
    start = time.perf_counter()
    Frontend().analyse(SPEED_TEXTS[lang])
    return time.perf_counter() - start


def main() -> None:
    """Print scores, failures and speed."""
    from common import parser, report, row

    arguments = parser(__doc__)
    arguments.add_argument("--cases", type=Path, default=cases_path(), help="cases file")
    args = arguments.parse_args()
    rows: list[dict[str, Any]] = []
    for lang in LANGS:
        load = _loading_seconds(lang)
        rows.append(row(f"speed {lang}", load_s=load, characters_per_s=round(characters_per_second(Frontend(), lang))))
    frontend = Frontend()
    for result in score_all(frontend, json.loads(args.cases.read_text("utf-8"))):
        print(f"{result.name}: {result.percent:.1f} % of {result.total} (pass marks {MARKS[result.name]})")
        for failure in result.failures:
            print(f"    {failure}")
        rows.append(row(result.name, error_rate=1 - result.percent / 100, error_unit="case"))
    report("frontend", args, rows)


if __name__ == "__main__":
    main()
