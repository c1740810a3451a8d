"""From written text to sentences of phoneme symbols.

Cleaning, markup, sentence splitting, language spans, normalisation and readings, in this order. All of it works on a
sliding window: a text of any length is read in constant memory, and text that arrives in pieces gives the very
sentences that the whole text gives.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.clean import Cleaner
from cosylite.text.languages import Languages
from cosylite.text.lexicon import Lexicon
from cosylite.text.markup import PLAIN, Item, Run, Stop, Style, join
from cosylite.text.reader import SentenceReader
from cosylite.text.sentences import EARLY, WHOLE, Limits, next_break
from cosylite.text.ssml import Markup
from cosylite.text.types import LANGS, Lang, Sentence

MAX_CHARACTERS = 2_000_000
"""Longest text that `Frontend.analyse` takes; `Frontend.iterate` and `TextStream` know no limit."""
_BLOCK = 1024
_SAMPLE = 2000
_FIRST_WORDS: dict[Lang, str] = {"zh": "你好", "en": "hello", "ja": "はい", "ko": "안녕"}


class Frontend:
    """Turns text into sentences that the acoustic model can speak. May be shared between threads.

    Args:
        lexicon: readings by word, such as `{"行": "hang2"}`, or a `Lexicon` (see `cosylite.text.lexicon`).
        default_han: language of Han-only text that says nothing else ("zh" or "ja").
        skip_unknown: leave out scripts that cosylite cannot read instead of raising an error.
    """

    def __init__(
        self,
        lexicon: Lexicon | Mapping[str, str] | None = None,
        default_han: Literal["zh", "ja"] = "zh",
        skip_unknown: bool = False,
    ) -> None:
        if default_han not in ("zh", "ja"):
            raise InputError(
                f"default_han is zh or ja, not {default_han!r}", code="unsupported_language", param="default_han"
            )
        self._languages = Languages()
        self._default_han: Lang = default_han
        self._skip_unknown = skip_unknown
        self._lexicon = lexicon if isinstance(lexicon, Lexicon) else Lexicon.of(lexicon or {})

    def analyse(self, text: str, *, lang: str = "auto") -> list[Sentence]:
        """All sentences of a text.

        Args:
            text: plain text with cosylite's inline markup, or SSML (see `cosylite.text.markup`).
            lang: "auto", or the language of everything that can be read in it.

        Raises:
            InputError: the text is no string, is too long, holds nothing to speak (`empty_text`), letters of an
                unknown script (`unsupported_language`), or wrong or unsupported markup.
        """
        if not isinstance(text, str):
            raise _not_text(text)
        if len(text) > MAX_CHARACTERS:
            raise InputError(
                f"the text has {len(text)} characters, more than {MAX_CHARACTERS}: split it, or stream it in pieces",
                code="text_too_long",
                param="text",
            )
        return list(self.iterate(text, lang=lang))

    def iterate(self, text: str | Iterable[str], *, lang: str = "auto") -> Iterator[Sentence]:
        """Sentences one by one, in constant memory. Pieces of an iterable are read as one text.

        Raises:
            InputError: as `analyse`; where nothing is to be spoken, at the end.
        """
        stream = TextStream(self, lang=lang, limits=WHOLE)
        if isinstance(text, str):
            stream.look_ahead(text)
        for piece in [text] if isinstance(text, str) else text:
            yield from stream.feed_lazily(piece)
        yield from stream.flush()
        if not stream.has_spoken:
            raise InputError("the text has nothing to speak: give at least one word", code="empty_text", param="text")

    def stream(self, *, lang: str = "auto") -> "TextStream":
        """A `TextStream` for text that is spoken while it is being written."""
        return TextStream(self, lang=lang)

    def preload(self, *langs: Lang) -> None:
        """Load languages now, so that their first sentence does not wait (about 0.6 s for Chinese, 0.1 s for others).

        The first use of Japanese on a machine unpacks its dictionary, which takes some seconds more.

        Raises:
            DeviceError, OutputError: a language's package or cache is missing.
        """
        for lang in langs:
            self.analyse(_FIRST_WORDS[lang], lang=lang)

    def forgiving(self) -> "Frontend":
        """This frontend with `skip_unknown`; both share what is loaded."""
        other = Frontend(self._lexicon, "ja" if self._default_han == "ja" else "zh", skip_unknown=True)
        other._languages = self._languages
        return other

    def _reader(self, lang: str) -> SentenceReader:
        return SentenceReader(
            self._languages, self._lexicon, checked_lang(lang), self._default_han, skip_unknown=self._skip_unknown
        )


class TextStream:
    """Text that arrives in pieces. The sentences depend on the text and on the calls of `flush` only.

    Args:
        frontend: what reads the sentences.
        lang: as in `Frontend.analyse`.
        limits: sizes at which sentences are cut; by default long ones go out clause by clause.
    """

    def __init__(self, frontend: Frontend, *, lang: str = "auto", limits: Limits = EARLY) -> None:
        self._reader = frontend._reader(lang)
        self._skip_unknown = frontend._skip_unknown
        self._limits = limits
        self._raw = ""
        self._raw_start = 0
        self._column = 0
        self.has_spoken = False
        """Whether any sentence with words has come out."""
        self._restart()

    def _restart(self) -> None:
        self._cleaner = Cleaner(skip_unknown=self._skip_unknown, position=self._raw_start + len(self._raw))
        self._markup = Markup(skip_unknown=self._skip_unknown)
        self._window = _Window()

    def look_ahead(self, text: str) -> None:
        """Let all of `text` decide the language of Han characters at its start, where nothing stands before."""
        self._reader.look_ahead(text[:_SAMPLE])

    def feed(self, piece: str) -> list[Sentence]:
        """Add text; the sentences whose end is now certain, often none.

        Raises:
            InputError: the piece is no string, or holds what cannot be read.
        """
        return list(self.feed_lazily(piece))

    def feed_lazily(self, piece: str) -> Iterator[Sentence]:
        """`feed` for long pieces: sentence by sentence. The iterator must be used up."""
        if not isinstance(piece, str):
            raise _not_text(piece)
        for start in range(0, len(piece), _BLOCK):
            block = piece[start : start + _BLOCK]
            self._raw += block
            yield from self._take(self._markup.feed(self._cleaner.feed(block)))

    def flush(self) -> list[Sentence]:
        """End of the text, or of a part of it: the sentences that are left. More text may follow."""
        items = [*self._markup.feed(self._cleaner.flush()), *self._markup.flush(), Stop()]
        sentences = list(self._take(items))
        self._restart()
        return sentences

    def _take(self, items: list[Item]) -> Iterator[Sentence]:
        for item in items:
            if isinstance(item, Stop):
                yield from self._cut(final=True, pause=item.pause)
                continue
            if self._window.rate is not None and item.style.rate != self._window.rate:
                yield from self._cut(final=True, pause=None)
            self._window.add(item)
        yield from self._cut(final=False, pause=None)

    def _cut(self, *, final: bool, pause: float | None) -> Iterator[Sentence]:
        """Sentences of the window; the explicit `pause` goes to the last of them, or to a silent one."""
        window = self._window
        while True:
            found = next_break(window.view(), final=final, column=self._column, limits=self._limits)
            if found is None:
                break
            last = final and found.end == len(window)
            silence = pause if last else 0.0 if found.kind == "word" else None
            text, styles = window.take(found.end)
            self._count_column(text.text)
            sentence = self._reader.read(text, styles, self._source, silence)
            if last:
                pause = None
            if sentence is not None:
                self.has_spoken = True
                yield sentence
            elif silence:
                yield Sentence((), text.starts[0], text.ends[-1], silence)
            self._drop(text.ends[-1])
        if pause is not None:
            place = self._raw_start + len(self._raw)
            yield Sentence((), place, place, pause)

    def _source(self, start: int, end: int) -> str:
        return self._raw[start - self._raw_start : end - self._raw_start]

    def _drop(self, end: int) -> None:
        self._raw = self._raw[max(0, end - self._raw_start) :]
        self._raw_start = max(self._raw_start, end)

    def _count_column(self, text: str) -> None:
        head, newline, tail = text.rpartition("\n")
        self._column = len(tail) if newline else self._column + len(head) + len(tail)


class _Window:
    """The text that waits to be cut, with the style of every character."""

    def __init__(self) -> None:
        self._text = AlignedText("", (), ())
        self._styles: tuple[Style, ...] = ()

    def __len__(self) -> int:
        return len(self._text)

    @property
    def rate(self) -> float | None:
        """Speaking rate of the text that waits."""
        return self._styles[-1].rate if self._styles else None

    def add(self, run: Run) -> None:
        self._text = join(self._text, run.text)
        self._styles += (run.style,) * len(run.text)

    def view(self) -> str:
        """The text for the splitter: what has a reading of its own looks like one word."""
        if all(style is PLAIN for style in self._styles):
            return self._text.text
        return "".join("x" if s.reading or s.say_as else c for c, s in zip(self._text.text, self._styles, strict=True))

    def take(self, end: int) -> tuple[AlignedText, tuple[Style, ...]]:
        """Remove and return the first `end` characters."""
        text, styles = self._text.slice(0, end), self._styles[:end]
        self._text, self._styles = self._text.slice(end, len(self._text)), self._styles[end:]
        return text, styles


def _not_text(value: object) -> InputError:
    return InputError(f"text must be a string, not {type(value).__name__}", code="invalid_text", param="text")


def checked_lang(lang: str) -> Lang | None:
    """The language, or None for "auto".

    Raises:
        InputError: `unsupported_language`.
    """
    if lang == "auto":
        return None
    for known in LANGS:
        if lang == known:
            return known
    raise InputError(
        f"unknown language {lang!r}: use auto, {', '.join(LANGS)}", code="unsupported_language", param="lang"
    )


def symbol_sequence(sentence: Sentence) -> list[tuple[str, int]]:
    """Phoneme symbols of a sentence, each with the index of its word in `sentence.words`.

    Words are joined by one space, which counts to the word before it, as does the punctuation behind a word:
    `"".join(symbol for symbol, _ in symbol_sequence(s))` reads `həlˈO, wˈɜɹld.`
    """
    sequence: list[tuple[str, int]] = []
    for index, word in enumerate(sentence.words):
        if sequence:
            sequence.append((" ", index - 1))
        sequence.extend((symbol, index) for symbol in word.symbols + word.after)
    return sequence


def symbol_string(sentence: Sentence) -> str:
    """The symbols of `symbol_sequence` as one string."""
    return "".join(symbol for symbol, _ in symbol_sequence(sentence))
