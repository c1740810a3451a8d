"""Which voice speaks a text."""

import re
from collections.abc import Iterable

from cosylite.errors import InputError
from cosylite.runtime.bundle import NanoManifest, VoiceSpec
from cosylite.text.spans import split_languages
from cosylite.text.types import Sentence

LOOKED_AT = 2000
"""Characters of a text that decide whether it is mixed."""
_MARKUP = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")


def languages_of(text: str) -> frozenset[str]:
    """Languages at the beginning of a text, markup left out."""
    plain = _MARKUP.sub(" ", text[:LOOKED_AT])
    return frozenset(span.lang for span in split_languages(plain, skip_unknown=True) if _has_letters(span.text))


def languages_of_sentence(sentence: Sentence) -> frozenset[str]:
    """Languages that a sentence is spoken in."""
    return frozenset(span.span.lang for span in sentence.spans if span.words)


def _has_letters(text: str) -> bool:
    return any(character.isalnum() for character in text)


class VoiceChoice:
    """Chooses a voice for every sentence of an utterance.

    A voice that is asked for speaks everything. Otherwise it is the default of the language of the text, or the
    default for mixed text; a later sentence in a language that this voice does not speak goes to the default for
    mixed text.
    """

    def __init__(self, manifest: NanoManifest, voice: str | None, lang: str, text: str | None) -> None:
        """`text`: the whole text, if it is known; else its first sentence decides.

        Raises:
            InputError: no such voice; the message lists the voices.
        """
        self._voices = {spec.name: spec for spec in manifest.voices.list}
        self._defaults = manifest.voices.default
        self._fixed = voice is not None
        self._chosen: VoiceSpec | None = None
        if voice is not None:
            self._chosen = self._named(voice)
        elif lang != "auto" and lang in self._defaults:
            self._chosen = self._voices[self._defaults[lang]]
        elif text is not None:
            self._chosen = self._default(languages_of(text))

    def row(self, sentence: Sentence) -> int:
        """Row of the voice table for a sentence."""
        return self.voice(sentence).row

    def voice(self, sentence: Sentence) -> VoiceSpec:
        """The voice for a sentence."""
        languages = languages_of_sentence(sentence)
        if self._chosen is None:
            self._chosen = self._default(languages)
        if self._fixed or languages <= set(self._chosen.languages):
            return self._chosen
        return self._default(languages)

    def _default(self, languages: Iterable[str]) -> VoiceSpec:
        names = list(languages)
        key = names[0] if len(names) == 1 and names[0] in self._defaults else "mixed"
        return self._voices[self._defaults[key]]

    def _named(self, name: str) -> VoiceSpec:
        try:
            return self._voices[name]
        except KeyError:
            raise InputError(
                f"unknown voice {name!r}; voices of this bundle: {', '.join(self._voices)}",
                code="unknown_voice",
                param="voice",
            ) from None
