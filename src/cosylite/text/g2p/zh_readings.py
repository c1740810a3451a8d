"""Dictionary readings of Han characters, by the longest phrase at each place."""

from cosylite.text.g2p.packed import PackedLines

LONGEST = 10
"""Characters of the longest phrase of the list."""


class Readings:
    """The packed list of characters and phrases; loaded with the object (2 MB)."""

    def __init__(self) -> None:
        self._lines = PackedLines("zh_pinyin.xz")

    def of(self, run: str) -> list[str]:
        """Pinyin with tone digits (5: neutral), one syllable per character; "" for one that is not listed."""
        syllables: list[str] = []
        while len(syllables) < len(run):
            syllables += self._longest(run[len(syllables) : len(syllables) + LONGEST])
        return syllables

    def _longest(self, run: str) -> list[str]:
        """Syllables of the longest listed beginning of `run`."""
        lines = self._lines.beginning_with(run[0])
        for length in range(len(run), 0, -1):
            key = b"\n" + run[:length].encode() + b"\t"
            at = lines.find(key)
            if at >= 0:
                return lines[at + len(key) : lines.index(b"\n", at + 1)].decode().split()
        return [""]
