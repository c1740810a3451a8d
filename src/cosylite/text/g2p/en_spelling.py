"""Phones of unknown English spellings: beam search in a joint n-gram model of letters and phones.

The model is made by `recipes/frontend/en_oov.py`. A graphone is one letter with the zero to two phones it gives;
n-grams of graphones are kept as a trie, level by level, in sorted arrays.
"""

import json
import lzma
import unicodedata
from importlib import resources

import numpy as np
import numpy.typing as npt

FORMAT = 1
_BEAM = 24
_SCALE = 24.0  # quantised log10 steps
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class SpellingModel:
    """Reads words letter by letter; about 5 ms a word, 20 MB of memory."""

    def __init__(self, packed: bytes | None = None) -> None:
        if packed is None:
            packed = resources.files("cosylite.text").joinpath("data", "en_spelling.xz").read_bytes()
        raw = lzma.decompress(packed)
        end = raw.index(b"\n")
        header = json.loads(raw[:end])
        graphones: list[str] = header["graphones"]
        self._size = len(graphones)
        self._phones = [graphone[1:] for graphone in graphones]
        self._by_letter: dict[str, Ints] = {
            letter: np.array([i for i, graphone in enumerate(graphones) if graphone[:1] == letter])
            for letter in {graphone[:1] for graphone in graphones}
        }
        self._keys: list[Ints] = []
        self._probability: list[Floats] = []
        self._backoff: list[Floats] = []
        self._load(raw, end + 1, header["sizes"])

    def _load(self, raw: bytes, at: int, sizes: list[int]) -> None:
        above = 1
        for order, size in enumerate(sizes):
            children = np.frombuffer(raw, "<u2", above, at)
            symbol = np.frombuffer(raw, "<u2", size, at + 2 * above)
            at += 2 * above + 2 * size
            self._keys.append(np.repeat(np.arange(above), children) * self._size + symbol)
            self._probability.append(np.frombuffer(raw, np.uint8, size, at).astype(np.float32) / np.float32(-_SCALE))
            at += size
            if order + 1 < len(sizes):
                self._backoff.append(np.frombuffer(raw, np.uint8, size, at).astype(np.float32) / np.float32(-_SCALE))
                at += size
            above = size

    def read(self, word: str) -> str:
        """Phones of `word`, with one primary stress; empty if it has no Latin letter."""
        plain = unicodedata.normalize("NFKD", word.lower())
        letters = [letter for letter in plain if letter in self._by_letter and letter]
        if not letters:
            return ""
        orders = len(self._keys)
        nodes = np.full((1, orders), -1)  # per hypothesis: trie node of its last k symbols
        nodes[0, 0] = 0
        nodes = self._step(nodes, self._by_letter[""])[1][0]  # the empty graphone opens and closes a word
        scores = np.zeros(1, np.float32)
        said = [""]
        for letter in [*letters, ""]:
            symbols = self._by_letter[letter]
            gains, nexts = self._step(nodes, symbols)
            flat = (scores[:, None] + gains).ravel()
            best = np.argsort(-flat, kind="stable")[:_BEAM]
            scores, nodes = flat[best], nexts.reshape(-1, orders)[best]
            said = [said[i // len(symbols)] + self._phones[symbols[i % len(symbols)]] for i in best.tolist()]
        return _one_stress(said[0]) if said[0].strip("ˈˌ") else ""

    def _step(self, nodes: Ints, symbols: Ints) -> tuple[Floats, Ints]:
        """Log10 probabilities (H, S) of `symbols` after each hypothesis, and the new nodes (H, S, orders)."""
        gains = np.zeros((len(nodes), len(symbols)), np.float32)
        nexts = np.full((len(nodes), len(symbols), len(self._keys)), -1)
        nexts[:, :, 0] = 0
        open_ = np.ones(gains.shape, bool)
        for order in range(len(self._keys) - 1, -1, -1):
            context = nodes[:, order]
            wanted = context[:, None] * self._size + symbols
            keys = self._keys[order]
            found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = (keys[found] == wanted) & (context >= 0)[:, None]
            gains += np.where(open_ & hit, self._probability[order][found], 0)
            open_ &= ~hit
            if order:
                weight = np.where(context >= 0, self._backoff[order - 1][context], 0)
                gains += np.where(open_, weight[:, None], 0)
            if order + 1 < len(self._keys):
                nexts[:, :, order + 1] = np.where(hit, found, -1)
        gains[open_] -= 9.0
        return gains, nexts


def _one_stress(phones: str) -> str:
    """Keep the first primary stress; make one where there is none."""
    head, mark, tail = phones.partition("ˈ")
    if mark:
        return head + mark + tail.replace("ˈ", "ˌ")
    if "ˌ" in phones:
        return phones.replace("ˌ", "ˈ", 1)
    first = next((i for i, phone in enumerate(phones) if phone in "AIOQWYaeiouæɑɐɒɔəɛɜɪʊʌ"), 0)
    return phones[:first] + "ˈ" + phones[first:]
