"""`cosylite phonemes`: how a text will be read."""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cosylite.cli.text_input import add_text_arguments, read_lexicon, read_text
from cosylite.text.frontend import Frontend, symbol_string
from cosylite.text.types import Lang, Sentence, Word

_DESCRIPTION = """\
Show how a text will be read, without speaking it: the language of every stretch, the text with numbers and signs
written out, the reading (pinyin, katakana, hangul as pronounced) and the phoneme symbols.

A wrong reading can be put right in the text, as in [行|hang2], or with --lexicon FILE.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "phonemes",
        help="show how a text will be read",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_text_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON: spans with their words, positions and symbols")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the readings.

    Raises:
        CosyliteError: what the frontend or the files raise.
    """
    frontend = Frontend(read_lexicon(args), args.default_han, args.skip_unknown)
    text = read_text(args)
    sentences = frontend.analyse(text, lang=args.lang)
    # The text may hold anything, the terminal may not know it all.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
    if args.json:
        print(json.dumps(as_json(text, sentences), ensure_ascii=False))
    else:
        for sentence in sentences:
            _show(sentence)
    return 0


@dataclass
class _Stretch:
    """Neighbouring spans of one language; sentence ends do not divide them."""

    lang: Lang
    start: int
    end: int
    normalised: str = ""
    words: list[Word] = field(default_factory=list)


def as_json(text: str, sentences: Iterable[Sentence]) -> dict[str, Any]:
    """What `--json` prints: every stretch of one language, with positions in `text`."""
    stretches: list[_Stretch] = []
    for spoken in (span for sentence in sentences for span in sentence.spans):
        span = spoken.span
        if not stretches or stretches[-1].lang != span.lang:
            stretches.append(_Stretch(span.lang, span.start, span.end))
        last = stretches[-1]
        last.end = span.end
        last.normalised += spoken.normalised
        last.words.extend(spoken.words)
    return {"spans": [_stretch_json(text, stretch) for stretch in stretches]}


def _stretch_json(text: str, stretch: _Stretch) -> dict[str, Any]:
    words = [
        {"text": word.text, "start": word.start, "end": word.end, "symbols": word.symbols, "reading": word.reading}
        for word in stretch.words
    ]
    return {
        "lang": stretch.lang,
        "start": stretch.start,
        "end": stretch.end,
        "text": text[stretch.start : stretch.end],
        "normalised": stretch.normalised,
        "words": words,
    }


def _show(sentence: Sentence) -> None:
    for spoken in sentence.spans:
        print(f"{spoken.span.lang}  {' '.join(spoken.span.text.split())}")
        if spoken.normalised.strip() != spoken.span.text.strip():
            print(f"    as       {' '.join(spoken.normalised.split())}")
        if spoken.span.lang != "en" and spoken.words:
            print(f"    reading  {' '.join(word.reading for word in spoken.words)}")
    if sentence.words:
        print(f"    symbols  {symbol_string(sentence)}")
    if sentence.pause_seconds:
        print(f"    pause    {sentence.pause_seconds:g} s")
    print()
