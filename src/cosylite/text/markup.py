"""What users can write into a text to steer how it is read.

In plain text:

* `[pause 500ms]`, `[pause 1.5s]`: a silence of at most 10 seconds; the sentence ends there.
* `[行|hang2]`: a reading for what stands before the bar. The form of the reading tells its language: pinyin with tone
  digits (`hang2 ye4`), katakana or hiragana as pronounced (`シノノメ`), hangul as pronounced (`동닙`), or
  cosylite's phoneme symbols between slashes for any language (`[tomato|/təmˈɑtO/]`).
* `[lang ja]東京[/lang]`: the language of a stretch.

A text that starts with `<speak` (or an XML declaration) is SSML, see `cosylite.text.ssml`.

Brackets and angles that are none of this are text. What looks like this markup and is wrong (`[pause 20s]`, an unknown
language, `[lang ja]` never closed) is an error, and so is a tag of SSML outside `<speak>`: tags are never spoken.
"""

import re
from dataclasses import dataclass, replace

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.symbols import unknown_symbols
from cosylite.text.types import LANGS, Lang

MAX_PAUSE_SECONDS = 10.0
_TAG = re.compile(
    r"\[pause (?P<pause>\d[^\[\]]{0,20})\]"
    r"|\[lang (?P<lang>[^\[\]|]{1,20})\]|(?P<close>\[/lang\])"
    r"|\[(?P<word>[^\[\]|]{1,100})\|(?P<reading>[^\[\]|]{1,180})\]"
)
_SSML_TAG = re.compile(
    r"</?(?:speak|break|phoneme|sub|say-as|prosody|voice|audio|emphasis|mark|lang|lexicon|lookup|metadata|meta|desc|token"
    r"|amazon:[\w-]+|mstts:[\w-]+|google:[\w-]+|[psw])(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"\[[^\[\]]{0,299}$|<(?:/?[a-zA-Z][\w:-]{0,20}(?:\s[^<>]{0,200})?/?|/?)$")
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s)", re.IGNORECASE)
_PINYIN = re.compile(r"[a-zü:]+[1-5](?:[ ']?[a-zü:]+[1-5])*")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\u30fb ]+")
_HANGUL = re.compile("[\uac00-\ud7a3 ]+")


@dataclass(frozen=True)
class Reading:
    """A reading that the user gives for a stretch of text.

    Attributes:
        lang: language that the reading is written in; None for phoneme symbols, which fit any.
        text: pinyin with tone digits, katakana, hangul as pronounced, or phoneme symbols.
    """

    lang: Lang | None
    text: str


@dataclass(frozen=True)
class SayAs:
    """How to read a stretch of text (`<say-as>`): kind, and the order of a date such as `"mdy"`."""

    kind: str
    order: str = ""


@dataclass(frozen=True, eq=False)
class Style:
    """What markup says about a stretch of text; two stretches never share one object by accident."""

    lang: Lang | None = None
    rate: float = 1.0
    reading: Reading | None = None
    say_as: SayAs | None = None


PLAIN = Style()


@dataclass(frozen=True)
class Run:
    """Text of one style."""

    text: AlignedText
    style: Style = PLAIN


@dataclass(frozen=True)
class Stop:
    """A sentence must end here; `pause` in seconds follows it (None: the engine's default)."""

    pause: float | None = None


Item = Run | Stop


class InlineMarkup:
    """Reads the bracket markup of plain text that arrives in pieces.

    Args:
        style: style of the text around.
        refuse_tags: whether tags of SSML are an error (plain text) or text (inside SSML, where they were escaped).
    """

    def __init__(self, style: Style = PLAIN, *, refuse_tags: bool = True) -> None:
        self._held = AlignedText("", (), ())
        self._outer = style
        self._styles: list[Style] = []
        self._opened = 0
        self._refuse_tags = refuse_tags

    def feed(self, text: AlignedText) -> list[Item]:
        """Items that are certain; an unfinished tag waits for its end.

        Raises:
            InputError: `bad_markup`, `unsupported_markup`, `bad_reading` or `unsupported_language`.
        """
        text = join(self._held, text)
        unfinished = _UNFINISHED.search(text.text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text.slice(cut, len(text))
        return self._parse(text.slice(0, cut))

    def flush(self) -> list[Item]:
        """What was held back; the text ends here.

        Raises:
            InputError: as `feed`, and where `[lang ...]` is still open.
        """
        held, self._held = self._held, AlignedText("", (), ())
        items = self._parse(held)
        if self._styles:
            raise bad_markup("[lang ...] is never closed: add [/lang]", self._opened)
        return items

    @property
    def _style(self) -> Style:
        return self._styles[-1] if self._styles else self._outer

    def _parse(self, text: AlignedText) -> list[Item]:
        items: list[Item] = []
        done = 0
        for match in _TAG.finditer(text.text):
            item = self._item(text, match)
            if item is None:
                continue
            items.extend(self._plain(text.slice(done, match.start())))
            items.extend(item)
            self._apply(match, text)
            done = match.end()
        items.extend(self._plain(text.slice(done, len(text))))
        return items

    def _item(self, text: AlignedText, match: re.Match[str]) -> list[Item] | None:
        """What a tag turns into (language tags: nothing); None where it is just text."""
        place = text.starts[match.start()]
        if match["pause"]:
            return [Stop(pause_seconds(match["pause"], place))]
        if match["word"]:
            reading = reading_of(match["reading"].strip(), place)
            if reading is None:
                return None
            word = text.slice(*match.span("word"))
            return [Run(word, replace(self._style, reading=reading))] if word.text.strip() else None
        return []

    def _apply(self, match: re.Match[str], text: AlignedText) -> None:
        place = text.starts[match.start()]
        if match["lang"]:
            self._styles.append(replace(self._style, lang=language_of(match["lang"].strip(), place)))
            self._opened = place
        elif match["close"]:
            if not self._styles:
                raise bad_markup("[/lang] closes nothing: open it with [lang zh], en, ja or ko", place)
            self._styles.pop()

    def _plain(self, text: AlignedText) -> list[Item]:
        tag = _SSML_TAG.search(text.text) if self._refuse_tags else None
        if tag:
            raise InputError(
                f"the text has the SSML tag {tag[0]} (at character {text.starts[tag.start()]}) outside <speak>: "
                "put the whole text into <speak>...</speak>, or remove the tag",
                code="unsupported_markup",
                param="text",
            )
        return [Run(text, self._style)] if text.text else []


def pause_seconds(duration: str, place: int) -> float:
    """Seconds of a duration such as `500ms` or `1.5s`.

    Raises:
        InputError: `bad_markup` where it is none or is out of bounds.
    """
    match = _DURATION.fullmatch(duration.strip())
    if match is None:
        raise bad_markup(f"the pause {duration.strip()!r} is no duration: write 500ms or 1.5s", place)
    seconds = float(match[1]) / (1000.0 if match[2].lower() == "ms" else 1.0)
    if seconds > MAX_PAUSE_SECONDS:
        raise bad_markup(f"the pause {duration.strip()!r} is longer than {MAX_PAUSE_SECONDS:g} s", place)
    return seconds


def language_of(tag: str, place: int) -> Lang:
    """Language of a tag such as `ja` or `zh-CN`.

    Raises:
        InputError: `unsupported_language`.
    """
    primary = tag.lower().replace("_", "-").split("-")[0]
    primary = "zh" if primary == "cmn" else primary
    for lang in LANGS:
        if primary == lang:
            return lang
    raise InputError(
        f"unknown language {tag!r} (at character {place}): use {', '.join(LANGS)}",
        code="unsupported_language",
        param="text",
    )


def reading_of(text: str, place: int) -> Reading | None:
    """The reading that `text` writes, its language told by its form; None where it has the form of none.

    Raises:
        InputError: `bad_reading` where phonemes between slashes hold what is no symbol.
    """
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return phonemes(text[1:-1], place)
    lowered = text.lower().replace("v", "ü")
    if _PINYIN.fullmatch(lowered):
        return Reading("zh", " ".join(re.findall("[a-zü:]+[1-5]", lowered)))
    if _KANA.fullmatch(text) and text.strip(" ・"):
        return Reading("ja", katakana(text))
    if _HANGUL.fullmatch(text):
        return Reading("ko", text)
    return None


def phonemes(text: str, place: int) -> Reading:
    """Phoneme symbols as a reading.

    Raises:
        InputError: `bad_reading` where some are no symbols.
    """
    unknown = unknown_symbols(text)
    if unknown or not text.strip():
        named = f"unknown phoneme symbols {' '.join(sorted(unknown))}" if unknown else "an empty reading"
        raise InputError(
            f"{named} in {text!r} (at character {place}): see docs/text.md for the symbols",
            code="bad_reading",
            param="text",
        )
    return Reading(None, text)


def katakana(kana: str) -> str:
    """Hiragana as katakana, without blanks and middle dots."""
    return "".join(chr(ord(c) + 0x60) if "\u3041" <= c <= "\u3096" else c for c in kana if c not in " ・")


def bad_markup(message: str, place: int) -> InputError:
    """The error for markup that is wrong at character `place`."""
    return InputError(f"{message} (at character {place})", code="bad_markup", param="text")


def join(first: AlignedText, second: AlignedText) -> AlignedText:
    """One text after the other."""
    if not second.text:
        return first
    return AlignedText(first.text + second.text, first.starts + second.starts, first.ends + second.ends)
