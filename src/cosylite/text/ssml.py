"""The subset of SSML that cosylite reads.

| element | attributes |
|---|---|
| `speak` | `version`, `xmlns`, `xml:lang` |
| `p`, `s` | `xml:lang` |
| `break` | `time` (`500ms`, `1.5s`, at most 10 s) or `strength` |
| `phoneme` | `ph`, `alphabet`: `ipa` (default), `x-cosylite`, `pinyin`, `katakana`, `hangul` |
| `sub` | `alias` |
| `say-as` | `interpret-as`: `characters`, `spell-out`, `digits`, `cardinal`, `ordinal`, `telephone`, `date` |
| | `format` of a date: `mdy`, `dmy`, `ymd`, `md`, ... |
| `prosody` | `rate`: `0.5` to `2`, `50%` to `200%`, `+10%`, `-10%`, `x-slow`, `slow`, `medium`, `fast`, `x-fast` |
| `lang` | `xml:lang` |

Every other element or attribute is an error (`unsupported_markup`) that names it and its place. Document types and
entities of one's own are refused; XML that is not well formed is an error (`bad_markup`). The bracket markup of plain
text works inside SSML too.
"""

import re
from dataclasses import replace
from xml.parsers import expat

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.clean import clean
from cosylite.text.ipa import from_ipa
from cosylite.text.markup import (
    PLAIN,
    InlineMarkup,
    Item,
    Reading,
    Run,
    SayAs,
    Stop,
    Style,
    bad_markup,
    katakana,
    language_of,
    pause_seconds,
    phonemes,
    reading_of,
)

ATTRIBUTES: dict[str, frozenset[str]] = {
    "speak": frozenset({"version", "xmlns", "xml:lang", "xmlns:xsi", "xsi:schemaLocation"}),
    "p": frozenset({"xml:lang"}),
    "s": frozenset({"xml:lang"}),
    "lang": frozenset({"xml:lang"}),
    "break": frozenset({"time", "strength"}),
    "phoneme": frozenset({"ph", "alphabet"}),
    "sub": frozenset({"alias"}),
    "say-as": frozenset({"interpret-as", "format"}),
    "prosody": frozenset({"rate"}),
}
MAX_DOCUMENT = 2_000_000
"""Longest SSML document in characters."""
_OPENINGS = ("<speak", "<?xml")
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 0.8, "x-strong": 1.2}
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5}
_SAY_AS = {"characters": "characters", "spell-out": "characters", "verbatim": "characters", "digits": "digits",
           "cardinal": "cardinal", "number": "cardinal", "ordinal": "ordinal", "date": "date",
           "telephone": "telephone"}  # fmt: skip
_ORDERS = frozenset({"ymd", "mdy", "dmy", "md", "dm", "ym", "my", "y", "m", "d"})
_RATE = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(%?)")


class Markup:
    """Reads the markup of a text that arrives in pieces: SSML where it starts as such, else bracket markup.

    A document of SSML is read as a whole when the text ends.
    """

    def __init__(self, *, skip_unknown: bool = False) -> None:
        self._skip_unknown = skip_unknown
        self._inline: InlineMarkup | None = None
        self._pieces: list[AlignedText] = []
        self._size = 0

    def feed(self, text: AlignedText) -> list[Item]:
        """Items that are certain.

        Raises:
            InputError: as `InlineMarkup.feed`, and `text_too_long` for an endless SSML document.
        """
        if self._inline is not None:
            return self._inline.feed(text)
        if text.text:
            self._pieces.append(text)
            self._size += len(text)
        if self._size > MAX_DOCUMENT:
            raise InputError(
                f"the SSML document has more than {MAX_DOCUMENT} characters: split it",
                code="text_too_long",
                param="text",
            )
        start = "".join(piece.text for piece in self._pieces[:16]).lstrip()[:7]
        if any(opening.startswith(start) or start.startswith(opening) for opening in _OPENINGS):
            return []
        return self._plain()

    def flush(self) -> list[Item]:
        """What is left; the text ends here.

        Raises:
            InputError: as `parse_ssml` and `InlineMarkup.flush`.
        """
        text = joined(self._pieces)
        if self._inline is None and text.text.lstrip().startswith(_OPENINGS):
            blank = len(text) - len(text.text.lstrip())
            return parse_ssml(text.slice(blank, len(text)), skip_unknown=self._skip_unknown)
        items = [] if self._inline is not None else self._plain()
        return [*items, *(self._inline.flush() if self._inline else [])]

    def _plain(self) -> list[Item]:
        self._inline = InlineMarkup()
        pieces, self._pieces = self._pieces, []
        return self._inline.feed(joined(pieces))


def parse_ssml(text: AlignedText, *, skip_unknown: bool = False) -> list[Item]:
    """Items of a whole SSML document.

    Raises:
        InputError: `bad_markup`, `unsupported_markup`, `bad_reading` or `unsupported_language`, with the place.
    """
    return _Document(text, skip_unknown).parse()


class _Document:
    """One pass over the XML; the stack holds the style of every open element."""

    def __init__(self, text: AlignedText, skip_unknown: bool) -> None:
        self._text = text
        self._skip_unknown = skip_unknown
        self._bytes = text.text.encode("utf-8")
        self._seen_bytes = 0
        self._seen_characters = 0
        self._items: list[Item] = []
        self._data = AlignedText("", (), ())
        self._pieces: list[AlignedText] = []
        self._stack: list[tuple[str, Style]] = []
        self._alias: str | None = None
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def parse(self) -> list[Item]:
        try:
            self._parser.Parse(self._bytes, True)
        except expat.ExpatError as error:
            self._seen_bytes = self._seen_characters = 0
            place = self._source_place(self._character(self._parser.ErrorByteIndex))
            raise bad_markup(f"the SSML is not well formed: {expat.errors.messages[error.code]}", place) from error
        return self._items

    def _character(self, byte: int) -> int:
        """Index of the character that begins at a byte; asked for in rising order."""
        self._seen_characters += len(self._bytes[self._seen_bytes : byte].decode("utf-8", "ignore"))
        self._seen_bytes = byte
        return self._seen_characters

    def _source_place(self, character: int) -> int:
        starts = self._text.starts
        return starts[min(character, len(starts) - 1)]

    def _here(self) -> int:
        return self._source_place(self._character(self._parser.CurrentByteIndex))

    def _doctype(self, *_: object) -> None:
        raise InputError(
            "SSML with a document type (<!DOCTYPE>) is refused: remove it", code="unsupported_markup", param="text"
        )

    def _characters(self, data: str) -> None:
        start = self._character(self._parser.CurrentByteIndex)
        piece = self._text.slice(start, start + len(data))
        if piece.text != data:
            end = self._text.text.index(";", start) + 1
            source = self._text.source(start, end)
            known = clean(data, skip_unknown=self._skip_unknown).text
            piece = AlignedText(known, (source[0],) * len(known), (source[1],) * len(known))
        self._pieces.append(piece)

    def _end_data(self) -> None:
        pieces, self._pieces = self._pieces, []
        text = joined(pieces)
        if not text.text:
            return
        if not self._stack:
            return
        style = self._stack[-1][1]
        if self._alias is not None:
            if text.text.strip():
                source = text.source(0, len(text))
                alias = clean(self._alias, skip_unknown=self._skip_unknown).text
                self._items.append(Run(AlignedText(alias, (source[0],) * len(alias), (source[1],) * len(alias)), style))
        elif style.reading is not None or style.say_as is not None:
            self._items.append(Run(text, style))
        else:
            inline = InlineMarkup(style, refuse_tags=False)
            self._items.extend([*inline.feed(text), *inline.flush()])

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._end_data()
        place = self._here()
        self._check(name, attributes, place)
        outer = self._stack[-1][1] if self._stack else PLAIN
        self._stack.append((name, self._style(name, attributes, outer, place)))
        if name in ("p", "s"):
            self._items.append(Stop())
        elif name == "break":
            self._break(attributes, place)
        elif name == "sub":
            self._alias = _required(name, attributes, "alias", place)

    def _end(self, name: str) -> None:
        self._end_data()
        self._stack.pop()
        if name in ("p", "s"):
            self._items.append(Stop())
        elif name == "sub":
            self._alias = None

    def _check(self, name: str, attributes: dict[str, str], place: int) -> None:
        if name not in ATTRIBUTES:
            raise _unsupported(f"the SSML element <{name}>", place, f"supported are {', '.join(ATTRIBUTES)}")
        for attribute in attributes:
            if attribute not in ATTRIBUTES[name]:
                known = ", ".join(sorted(ATTRIBUTES[name]))
                raise _unsupported(
                    f"the attribute {attribute} of the SSML element <{name}>", place, f"supported: {known}"
                )
        if not self._stack and name != "speak":
            raise bad_markup(f"SSML starts with <speak>, not <{name}>", place)
        if self._stack and (name == "speak" or self._stack[-1][0] in ("sub", "phoneme", "say-as", "break")):
            raise bad_markup(f"<{name}> cannot stand inside <{self._stack[-1][0]}>", place)

    def _style(self, name: str, attributes: dict[str, str], outer: Style, place: int) -> Style:
        style = outer
        if "xml:lang" in attributes:
            style = replace(style, lang=language_of(attributes["xml:lang"], place))
        elif name == "lang":
            _required(name, attributes, "xml:lang", place)
        if name == "prosody":
            style = replace(style, rate=_rate(_required(name, attributes, "rate", place), place))
        elif name == "phoneme":
            style = replace(style, reading=_phoneme(attributes, place))
        elif name == "say-as":
            style = replace(style, say_as=_say_as(attributes, place))
        return style

    def _break(self, attributes: dict[str, str], place: int) -> None:
        strength = attributes.get("strength", "medium")
        if strength not in _STRENGTHS:
            raise _unsupported(f"the break strength {strength!r}", place, f"supported are {', '.join(_STRENGTHS)}")
        time = attributes.get("time")
        seconds = _STRENGTHS[strength] if time is None else pause_seconds(time, place)
        if seconds > 0:
            self._items.append(Stop(seconds))


def joined(pieces: list[AlignedText]) -> AlignedText:
    """Pieces as one text."""
    if len(pieces) == 1:
        return pieces[0]
    return AlignedText(
        "".join(piece.text for piece in pieces),
        tuple(start for piece in pieces for start in piece.starts),
        tuple(end for piece in pieces for end in piece.ends),
    )


def _required(name: str, attributes: dict[str, str], attribute: str, place: int) -> str:
    if not attributes.get(attribute):
        raise bad_markup(f"<{name}> needs the attribute {attribute}", place)
    return attributes[attribute]


def _unsupported(what: str, place: int, hint: str) -> InputError:
    return InputError(
        f"{what} (at character {place}) is not supported; {hint}", code="unsupported_markup", param="text"
    )


def _rate(value: str, place: int) -> float:
    value = value.strip()
    if value in _RATES:
        return _RATES[value]
    match = _RATE.fullmatch(value)
    if match is None or (match[1] and not match[3]):
        raise _unsupported(
            f"the prosody rate {value!r}", place, f"write a number, a percentage, or {', '.join(_RATES)}"
        )
    amount = float(match[2]) / (100.0 if match[3] else 1.0)
    rate = 1.0 + amount if match[1] == "+" else 1.0 - amount if match[1] == "-" else amount
    if not 0.5 <= rate <= 2.0:
        raise bad_markup(f"the prosody rate {value!r} is outside 0.5 to 2 (50% to 200%)", place)
    return rate


def _say_as(attributes: dict[str, str], place: int) -> SayAs:
    kind = _required("say-as", attributes, "interpret-as", place)
    order = attributes.get("format", "")
    if kind not in _SAY_AS:
        raise _unsupported(f"interpret-as={kind!r}", place, f"supported are {', '.join(_SAY_AS)}")
    if order and (kind != "date" or order not in _ORDERS):
        raise _unsupported(f"the format {order!r} of say-as {kind}", place, "a date takes ymd, mdy, dmy, md, ...")
    return SayAs(_SAY_AS[kind], order)


def _phoneme(attributes: dict[str, str], place: int) -> Reading:
    ph = _required("phoneme", attributes, "ph", place).strip()
    alphabet = attributes.get("alphabet", "ipa")
    if alphabet == "x-cosylite":
        return phonemes(ph, place)
    if alphabet == "ipa":
        return phonemes(from_ipa(ph), place)
    lang = {"pinyin": "zh", "katakana": "ja", "hangul": "ko"}.get(alphabet)
    if lang is None:
        known = "ipa, x-cosylite, pinyin, katakana, hangul"
        raise _unsupported(f"the phoneme alphabet {alphabet!r}", place, f"supported are {known}")
    reading = reading_of(katakana(ph) if lang == "ja" else ph, place)
    if reading is None or reading.lang != lang:
        hint = "tone digits, as in hang2" if lang == "zh" else alphabet
        raise InputError(
            f"{ph!r} is no {alphabet} (at character {place}): write {hint}",
            code="bad_reading",
            param="text",
        )
    return reading
