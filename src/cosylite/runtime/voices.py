"""Which voice speaks a text: one of the bundle's, or a blend of several."""

import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cosylite.errors import InputError
from cosylite.runtime.bundle import NanoManifest, VoiceSpec, VoicesSpec
from cosylite.text.spans import split_languages
from cosylite.text.types import Sentence

LARGEST_SHARE = 1e6
"""Of a voice in a blend: sums of larger ones could lose the smaller ones, or overflow."""
LOOKED_AT = 2000
"""Characters of a text that decide whether it is mixed."""
_MARKUP = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")

Mix = tuple[tuple[int, float], ...]
"""Rows of the voice table, each with its share; the shares sum to 1."""


@dataclass(frozen=True)
class ChosenVoice:
    """A voice or a blend, with the languages that every part of it reads well."""

    name: str
    languages: tuple[str, ...]
    mix: Mix


def _alone(spec: VoiceSpec) -> ChosenVoice:
    return ChosenVoice(spec.name, spec.languages, ((spec.row, 1.0),))


def blend_name(shares: Mapping[str, float]) -> str:
    """The name under which a blend is asked for: ``a:0.6+b:0.4``, shares brought to a sum of 1.

    Raises:
        InputError: no share, one that is not above 0, or a name with ``+`` or ``:``.
    """
    if not isinstance(shares, Mapping):
        raise _bad_blend(f"a blend is a mapping from voices to shares, not {type(shares).__name__}")
    total = 0.0
    for name, share in shares.items():
        if not isinstance(share, numbers.Real) or isinstance(share, bool) or not 0 < share <= LARGEST_SHARE:
            raise _bad_blend(f"the share of {name!r} must be a number above 0, at most {LARGEST_SHARE:g}")
        if not isinstance(name, str) or not name or "+" in name or ":" in name:
            raise _bad_blend(f"{name!r} cannot be part of a blend")
        total += float(share)
    if not total:
        raise _bad_blend("a blend needs at least one voice")
    return "+".join(f"{name}:{float(share) / total:.4g}" for name, share in shares.items())


def _bad_blend(reason: str) -> InputError:
    return InputError(f"{reason}; blends are written a:0.6+b:0.4", code="invalid_blend", param="voice")


def named_voice(voices: VoicesSpec, name: str) -> ChosenVoice:
    """The voice or blend called `name`.

    Raises:
        InputError: no such voice (the message lists the voices), or a blend that cannot be read.
    """
    known = {spec.name: spec for spec in voices.list}
    if name in known:
        return _alone(known[name])
    parts = [part.partition(":") for part in name.split("+")] if "+" in name or ":" in name else []
    for part in [voice.strip() for voice, _, _ in parts] or [name]:
        if part not in known:
            raise InputError(
                f"unknown voice {part!r}; voices of this bundle: {', '.join(known)}",
                code="unknown_voice",
                param="voice",
            )
    shares: dict[str, float] = {}
    for voice, colon, share in parts:
        try:
            value = float(share) if colon else 1.0
        except ValueError:
            raise _bad_blend(f"{share!r} is not a number") from None
        if not 0 < value <= LARGEST_SHARE:
            raise _bad_blend(f"the share of {voice.strip()!r} must be above 0, at most {LARGEST_SHARE:g}, not {share}")
        shares[voice.strip()] = shares.get(voice.strip(), 0.0) + value
    total = sum(shares.values())
    reads = [set(known[voice].languages) for voice in shares]
    languages = tuple(lang for lang in known[next(iter(shares))].languages if all(lang in r for r in reads))
    return ChosenVoice(name, languages, tuple((known[voice].row, share / total) for voice, share in shares.items()))


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
            InputError: no such voice (the message lists the voices), or a blend that cannot be read.
        """
        self._listed = manifest.voices
        self._defaults = manifest.voices.default
        self._fixed = voice is not None
        self._chosen: ChosenVoice | None = None
        if voice is not None:
            self._chosen = named_voice(self._listed, voice)
        elif lang != "auto" and lang in self._defaults:
            self._chosen = named_voice(self._listed, self._defaults[lang])
        elif text is not None:
            self._chosen = self._default(languages_of(text))

    def voice(self, sentence: Sentence) -> ChosenVoice:
        """The voice for a sentence."""
        languages = languages_of_sentence(sentence)
        if self._chosen is None:
            self._chosen = self._default(languages)
        if self._fixed or languages <= set(self._chosen.languages):
            return self._chosen
        return self._default(languages)

    def _default(self, languages: Iterable[str]) -> ChosenVoice:
        names = list(languages)
        key = names[0] if len(names) == 1 and names[0] in self._defaults else "mixed"
        return named_voice(self._listed, self._defaults[key])
