"""Reads a text for an official model: segments, and the ids of each."""

from collections.abc import Iterable, Iterator
from typing import Literal

from cosylite.errors import InputError
from cosylite.text.family.normalise import FamilyText
from cosylite.text.family.pieces import SentenceFeed
from cosylite.text.family.segment import TextSegment
from cosylite.text.family.tokenizers import Tokenizer, qwen_specials, qwen_tokenizer, unpack, whisper_tokenizer

Family = Literal["v1", "v2", "v3"]


def family_tokenizer(packed: bytes, family: Family) -> Tokenizer:
    """The tokenizer of a family, from the vocabulary of a bundle."""
    pieces = unpack(packed)
    return whisper_tokenizer(pieces) if family == "v1" else qwen_tokenizer(pieces, family)


class Reading:
    """Text to ids, with what the models cannot read refused."""

    def __init__(self, tokenizer: Tokenizer, text: FamilyText, *, rows: int, family: Family) -> None:
        """`rows`: how many ids the model has embeddings for."""
        self.text = text
        self._tokenizer, self._rows, self._family = tokenizer, rows, family
        self._foreign = set(qwen_specials()) - set(tokenizer.specials) if family == "v2" else set()

    def encode(self, text: str) -> list[int]:
        """Ids of a text as it is.

        Raises:
            InputError: a piece is not known to the model.
        """
        ids = self._tokenizer.encode(text)
        if ids and max(ids) >= self._rows:
            raise InputError(
                f"this model has no row for {self._tokenizer.decode([max(ids)])!r}; leave it out of the text",
                code="unknown_piece",
                param="text",
            )
        return ids

    def segment(self, text: str) -> TextSegment:
        """A normalised segment with its ids."""
        return TextSegment(text, tuple(self.encode(text)))

    def segments(self, text: str) -> list[TextSegment]:
        """Segments of a text.

        Raises:
            InputError: the text has nothing to speak, or pieces that the model does not know.
        """
        if not isinstance(text, str):
            raise InputError(f"text must be a string, not {type(text).__name__}", code="invalid_text", param="text")
        self._check_tags(text)
        found = [segment for part in self.text.segments(text) if (segment := self.segment(part)).ids]
        if not found:
            raise InputError("the text has nothing to speak: give at least one word", code="empty_text", param="text")
        return found

    def segments_of_pieces(self, pieces: Iterable[str], feed: SentenceFeed) -> Iterator[TextSegment]:
        """Segments of text that arrives in pieces, as soon as they are complete."""
        for piece in pieces:
            yield from self.segments_of(feed.push(piece))
        yield from self.segments_of(feed.flush())

    def segments_of(self, parts: Iterable[str]) -> Iterator[TextSegment]:
        """Segments of normalised stretches of text; stretches without ids give none."""
        for part in parts:
            self._check_tags(part)
            segment = self.segment(part)
            if segment.ids:
                yield segment

    def _check_tags(self, text: str) -> None:
        """Refuse tags of v3 in v2, which would be read out."""
        if "[" not in text:
            return
        tag = next((tag for tag in sorted(self._foreign) if tag in text), None)
        if tag is not None:
            raise InputError(
                f"{tag!r} is a tag of CosyVoice 3; this model does not know it, so leave it out",
                code="unknown_tag",
                param="text",
            )
