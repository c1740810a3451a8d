"""Input hygiene: what reaches the frontend is composed, printable text in scripts that cosylite reads.

* Unicode is composed (NFC); marks that no letter absorbs are dropped, as are control and format characters (zero
  width, byte order mark, soft hyphen), lone surrogates, private and unassigned characters, variation selectors.
* Every kind of blank becomes one space, a line end (CR, LF, CRLF, vertical tab, form feed, U+2028) one newline, and
  a run of blanks shrinks to one space, one newline, or two newlines where it holds an empty line.
* Fullwidth letters, halfwidth katakana, Latin ligatures, mathematical letters and the digits of all scripts take their
  usual form.
* A letter of another script (Arabic, Thai, Cyrillic, ...) is an error, or a blank with `skip_unknown`.

`Cleaner` takes its text in pieces of any size; the outcome depends only on the text.
"""

import re
import unicodedata
from typing import Literal

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText

_PLAIN = re.compile(
    "(?:[!-~\u3001-\u3017\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3\uff01\uff0c\uff1a\uff1b\uff1f])+"
)
_COMPATIBLE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f\ufb00-\ufb06\U0001d400-\U0001d7ff]")
_OTHER_SCRIPT = re.compile(
    "[\u0400-\u10ff\u1200-\u1cff\u2c00-\u2dff\u3105-\u312f\ua000-\ua6ff\ua800-\ua95f\ua980-\uabff\ufb13-\ufdff"
    "\ufe70-\ufefc\U00010280-\U00016fff\U0001bc00-\U0001bfff\U0001e000-\U0001efff]"
)
_LONGEST_CLUSTER = 32
_LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"


class Cleaner:
    """Cleans text that arrives in pieces and keeps every character's place in the original.

    Args:
        skip_unknown: replace letters of scripts that cosylite cannot read by a space instead of raising.
        position: where the text begins in the original.
    """

    def __init__(self, *, skip_unknown: bool = False, position: int = 0) -> None:
        self._skip_unknown = skip_unknown
        self._held = ""
        self._position = position
        self._blank: tuple[int, int, int] | None = None

    def feed(self, piece: str) -> AlignedText:
        """The cleaned text that is certain so far; the last letter and trailing blanks wait for what follows.

        Raises:
            InputError: `unsupported_language` where a letter of another script stands.
        """
        if len(self._held) >= _LONGEST_CLUSTER:
            held, self._held = self._held, ""
            out = _Output(self._blank)
            self._take(out, held, 0, len(held))
            self._position += len(held)
            extra = next((i for i, c in enumerate(piece) if not _extends(c)), len(piece))
            self._position += extra
            self._blank = out.blank
            return _join(out.done(), self.feed(piece[extra:]))
        raw = self._held + piece
        cut = len(raw)
        while cut > 0:
            cut -= 1
            if not _continues(raw, cut):
                break
        return self._process(raw, cut)

    def flush(self) -> AlignedText:
        """Everything that was held back; the text ends here."""
        done = self._process(self._held, len(self._held))
        out = _Output(self._blank)
        out.end_blank()
        self._blank = None
        return _join(done, out.done())

    def _process(self, raw: str, cut: int) -> AlignedText:
        out = _Output(self._blank)
        at = 0
        while at < cut:
            plain = _PLAIN.match(raw, at, cut)
            if plain:
                # The last plain letter may still take a mark.
                end = plain.end() if plain.end() == cut or not _continues(raw, plain.end()) else plain.end() - 1
                if end > at:
                    out.copy(raw[at:end], self._position + at)
                    at = end
                    continue
            end = at + 1
            while end < cut and _continues(raw, end):
                end += 1
            self._take(out, raw, at, end)
            at = end
        self._held = raw[cut:]
        self._position += cut
        self._blank = out.blank
        return out.done()

    def _take(self, out: "_Output", raw: str, start: int, end: int) -> None:
        """Clean one cluster (a character with its marks) into `out`."""
        first, last = self._position + start, self._position + end
        character = raw[start]
        if character in _LINE_ENDS:
            out.add_blank(first, last, 1)
        elif character == "\t" or unicodedata.category(character) == "Zs":
            out.add_blank(first, last, 0)
        elif _OTHER_SCRIPT.match(character) and unicodedata.category(character)[0] == "L":
            if not self._skip_unknown:
                raise _unknown(character, first)
            out.add_blank(first, last, 0)
        else:
            out.add(_composed(raw[start : min(end, start + _LONGEST_CLUSTER)]), first, last)


class _Output:
    """Collects cleaned characters with their source ranges; a run of blanks waits until its end is known."""

    def __init__(self, blank: tuple[int, int, int] | None) -> None:
        self.blank = blank
        self._text: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add_blank(self, first: int, last: int, newlines: int) -> None:
        if self.blank is None:
            self.blank = (first, last, newlines)
        else:
            self.blank = (self.blank[0], last, self.blank[2] + newlines)

    def end_blank(self) -> None:
        if self.blank is not None:
            first, last, newlines = self.blank
            self.blank = None
            self.add("\n" * min(newlines, 2) or " ", first, last)

    def add(self, text: str, first: int, last: int) -> None:
        if text:
            self.end_blank()
            self._text.append(text)
            self._starts.extend([first] * len(text))
            self._ends.extend([last] * len(text))

    def copy(self, text: str, first: int) -> None:
        self.end_blank()
        self._text.append(text)
        self._starts.extend(range(first, first + len(text)))
        self._ends.extend(range(first + 1, first + len(text) + 1))

    def done(self) -> AlignedText:
        return AlignedText("".join(self._text), tuple(self._starts), tuple(self._ends))


def clean(text: str, *, skip_unknown: bool = False) -> AlignedText:
    """Clean a whole text (see the module).

    Raises:
        InputError: `unsupported_language` where a letter of another script stands.
    """
    cleaner = Cleaner(skip_unknown=skip_unknown)
    return _join(cleaner.feed(text), cleaner.flush())


def _join(first: AlignedText, second: AlignedText) -> AlignedText:
    return AlignedText(first.text + second.text, first.starts + second.starts, first.ends + second.ends)


def _extends(character: str) -> bool:
    """Whether the character belongs to the letter before it."""
    return (
        unicodedata.combining(character) > 0
        or "\u1160" <= character <= "\u11ff"
        or character in "\uff9e\uff9f\u200d\ufe0e\ufe0f\u20e3"
    )


def _continues(raw: str, at: int) -> bool:
    return _extends(raw[at]) or (raw[at] == "\n" and at > 0 and raw[at - 1] == "\r")


def _composed(cluster: str) -> str:
    form: Literal["NFKC", "NFC"] = "NFKC" if _COMPATIBLE.match(cluster) else "NFC"
    kept = (c for c in unicodedata.normalize(form, cluster) if unicodedata.category(c) not in _DROPPED)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in kept)


_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me"})


def _unknown(character: str, position: int) -> InputError:
    name = unicodedata.name(character, "unknown letter").split()[0].capitalize()
    return InputError(
        f"the text has {name} letters (at character {position}), which cosylite cannot read; it reads Chinese, "
        "English, Japanese and Korean: remove them, or skip them with skip_unknown (--skip-unknown)",
        code="unsupported_language",
        param="text",
    )
