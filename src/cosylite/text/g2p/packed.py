"""Word lists as one sorted string of bytes: searched by bisection, so that no dictionary is built in memory."""

import lzma
from importlib import resources


class PackedLines:
    """Lines `key TAB value`, sorted by the UTF-8 bytes of the whole line, in a file of the package's data.

    Loading costs one decompression, and memory only the size of the text.
    """

    def __init__(self, name: str) -> None:
        """`name`: a file of `cosylite/text/data` that holds a line break before every line and after the last."""
        data = resources.files("cosylite.text").joinpath("data", name).read_bytes()
        self._raw = lzma.decompress(data)

    def text(self) -> str:
        """All lines."""
        return self._raw.decode()

    def find(self, key: str) -> str | None:
        """The value of a key."""
        wanted = b"\n" + key.encode("utf-8", "surrogatepass") + b"\t"
        start = self._first(wanted)
        if not self._raw.startswith(wanted, start):
            return None
        return self._raw[start + len(wanted) : self._raw.index(b"\n", start + 1)].decode()

    def beginning_with(self, character: str) -> bytes:
        """All lines whose key begins with a character, with a line break before every line and after the last."""
        after = chr(ord(character) + 1) if ord(character) < 0x10FFFF else None
        start = self._first(b"\n" + character.encode("utf-8", "surrogatepass"))
        end = len(self._raw) - 1 if after is None else self._first(b"\n" + after.encode("utf-8", "surrogatepass"))
        return self._raw[start : end + 1]

    def _first(self, wanted: bytes) -> int:
        """Position of the line break before the first line that is not below `wanted`; the last one if all are."""
        low, high = 0, len(self._raw) - 1  # the answer is one of the line breaks low .. high
        while low < high:
            start = self._raw.rfind(b"\n", low, (low + high) // 2 + 1)
            end = self._raw.index(b"\n", start + 1)
            if self._raw[start:end] < wanted:
                low = end
            else:
                high = start
        return low
