"""Text that remembers where each of its characters came from.

Normalisers rewrite text; timestamps, highlighting and error messages need positions in what the user typed.
`AlignedText` keeps, for every character, the half-open source range it stands for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

Replacement = str | Callable[[re.Match[str]], str | None]


@dataclass(frozen=True)
class AlignedText:
    """A string and, per character, the source range `[starts[i], ends[i])` in the original text."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str, offset: int = 0) -> "AlignedText":
        """Identity alignment of `text`, which begins at `offset` of the original."""
        return cls(text, tuple(range(offset, offset + len(text))), tuple(range(offset + 1, offset + len(text) + 1)))

    def __len__(self) -> int:
        return len(self.text)

    def slice(self, start: int, end: int) -> "AlignedText":
        """Characters `[start, end)` with their alignment."""
        return AlignedText(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Source range that characters `[start, end)` (not empty) stand for."""
        return min(self.starts[start:end]), max(self.ends[start:end])

    def sub(self, pattern: re.Pattern[str], replacement: Replacement) -> "AlignedText":
        """Replace every match; each new character stands for the whole match. A callable may return None to keep it.

        A plain string is inserted as it is (no backslash groups).
        """
        text: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            new = replacement(match) if callable(replacement) else replacement
            if new is None or match.start() == match.end():
                continue
            self._copy(done, match.start(), text, starts, ends)
            first, last = self.source(match.start(), match.end())
            text.append(new)
            starts.extend([first] * len(new))
            ends.extend([last] * len(new))
            done = match.end()
        if not done and not text:
            return self
        self._copy(done, len(self.text), text, starts, ends)
        return AlignedText("".join(text), tuple(starts), tuple(ends))

    def _copy(self, start: int, end: int, text: list[str], starts: list[int], ends: list[int]) -> None:
        text.append(self.text[start:end])
        starts.extend(self.starts[start:end])
        ends.extend(self.ends[start:end])
