"""Train the model that reads unknown English words: a joint n-gram of letters and the phones each letter gives.

    python recipes/frontend/en_oov.py            # about two minutes on one core
    python recipes/frontend/en_oov.py --evaluate # trains without 2,000 words and prints the error rates on them

1. Every word of the packed lexicon is aligned: each letter gives zero, one or two phone units (Viterbi EM).
2. Letter and phones become one symbol (a graphone); an n-gram model with Kneser-Ney smoothing is counted.
3. n-grams whose probability hardly differs from that of the shorter context are dropped, the rest is quantised.
"""

import argparse
import json
import lzma
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cosylite.text.g2p.en_spelling import FORMAT, SpellingModel

TARGET = Path(__file__).resolve().parents[2] / "src" / "cosylite" / "text" / "data" / "en_spelling.xz"
ORDER = 7
DISCOUNT = 0.75
LETTERS = "abcdefghijklmnopqrstuvwxyz"
UNIT = re.compile("[ˈˌ]?.")
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def lexicon() -> list[tuple[str, str]]:
    """(spelling, phones) of the ordinary words of the packed lexicon."""
    raw = lzma.decompress(resources.files("cosylite.text").joinpath("data", "en_lexicon.xz").read_bytes()).decode()
    pairs = []
    for line in raw.strip().split("\n"):
        key, phones = line.split("\t")[:2]
        if re.fullmatch("[A-Za-z][a-z]+", key):
            pairs.append((key.lower(), phones))
    return sorted(set(pairs))


@dataclass(frozen=True)
class Corpus:
    """Words as arrays: letters (W, L) and units (W, P), padded with -1, with their lengths."""

    letters: Ints
    units: Ints
    letter_counts: Ints
    unit_counts: Ints
    names: list[str]
    """Spelling of each unit."""


def corpus(pairs: list[tuple[str, str]]) -> Corpus:
    split = [UNIT.findall(phones) for _, phones in pairs]
    names = sorted({unit for units in split for unit in units})
    index = {name: i for i, name in enumerate(names)}
    letters = np.full((len(pairs), max(len(word) for word, _ in pairs)), -1)
    units = np.full((len(pairs), max(map(len, split))), -1)
    for row, ((word, _), sounds) in enumerate(zip(pairs, split, strict=True)):
        letters[row, : len(word)] = [LETTERS.index(letter) for letter in word]
        units[row, : len(sounds)] = [index[unit] for unit in sounds]
    return Corpus(letters, units, (letters >= 0).sum(1), (units >= 0).sum(1), names)


def chunk_codes(data: Corpus) -> list[Ints]:
    """For chunks of 0, 1, 2 units: code of the chunk that ends before each unit position, (W, P + 1)."""
    size = len(data.names)
    padded = np.concatenate([np.zeros((len(data.units), 2), np.int64), np.maximum(data.units, 0)], axis=1)
    one = 1 + padded[:, 1:]
    two = 1 + size + padded[:, :-1] * size + padded[:, 1:]
    return [np.zeros_like(one), one, two]


def first_scores(data: Corpus) -> Floats:
    """Starting scores (letter, chunk): how often letter and unit stand at about the same place."""
    size = len(data.names)
    table = np.full((len(LETTERS), 1 + size + size * size), 1e-7)
    table[:, 0] = 0.02
    places = np.arange(data.letters.shape[1])
    for position in range(data.units.shape[1]):
        unit = data.units[:, position]
        centre = position / np.maximum(data.unit_counts, 1) * data.letter_counts
        for place in places:
            near = (unit >= 0) & (data.letters[:, place] >= 0) & (np.abs(place - centre) < 1.5)
            np.add.at(table, (data.letters[near, place], 1 + unit[near]), 1.0)
    single = table[:, 1 : 1 + size]
    single /= single.sum(0, keepdims=True) * single.sum(1, keepdims=True) / single.sum()
    table[:, 1 : 1 + size] = single / single.sum(1, keepdims=True)
    scores: Floats = np.log(table)
    return scores


def align(data: Corpus, scores: Floats) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Best chunk length of every letter, (W, L), and which words could be aligned at all."""
    codes = chunk_codes(data)
    words, longest = data.letters.shape
    width = data.units.shape[1] + 1
    best = np.full((words, width), -np.inf)
    best[:, 0] = 0
    choice = np.zeros((words, longest, width), np.int8)
    totals = np.full(words, -np.inf)
    rows = np.arange(words)
    for place in range(longest):
        letter = np.maximum(data.letters[:, place], 0)[:, None]
        options = np.full((3, words, width), -np.inf)
        for length in range(3):
            kept = best[:, : width - length]
            options[length][:, length:] = kept + scores[letter, codes[length][:, length:]]
        choice[:, place] = options.argmax(0)
        best = options.max(0)
        ended = data.letter_counts == place + 1
        totals[ended] = best[rows[ended], data.unit_counts[ended]]
    lengths = np.zeros((words, longest), np.int64)
    at = data.unit_counts.copy()
    for place in reversed(range(longest)):
        inside = place < data.letter_counts
        step = np.where(inside, choice[rows, place, np.maximum(at, 0)], 0)
        lengths[:, place] = step
        at = at - step
    return lengths, np.isfinite(totals) & (at == 0)


def chunks(data: Corpus, lengths: Ints) -> Ints:
    """Chunk code of every letter, (W, L)."""
    codes = chunk_codes(data)
    ends = np.cumsum(lengths, axis=1)
    rows = np.arange(len(lengths))[:, None]
    every = np.stack([code[rows, ends] for code in codes])
    chosen: Ints = np.take_along_axis(every, lengths[None], axis=0)[0]
    return chosen


def aligned(data: Corpus, rounds: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Chunk codes of every letter after `rounds` of Viterbi training."""
    scores = first_scores(data)
    for _ in range(rounds):
        lengths, good = align(data, scores)
        found = chunks(data, lengths)
        counts = np.full(scores.shape, 1e-3)
        use = good[:, None] & (data.letters >= 0)
        np.add.at(counts, (data.letters[use], found[use]), 1.0)
        scores = np.log(counts / counts.sum(1, keepdims=True))
    return found, good


@dataclass(frozen=True)
class Level:
    """n-grams of one order: parent (index in the level below), last symbol, log10 probability, log10 back-off."""

    parent: Ints
    symbol: Ints
    probability: Floats
    backoff: Floats


def count_levels(tokens: Ints, starts: npt.NDArray[np.bool_], size: int) -> list[Level]:
    """Kneser-Ney n-grams of orders 1..ORDER of a token stream; contexts never reach over a word start."""
    depth = np.zeros(len(tokens), np.int64)  # tokens since the word start
    for i in range(1, len(tokens)):
        depth[i] = 0 if starts[i] else depth[i - 1] + 1
    ids: list[Ints] = []
    keys: list[Ints] = []
    firsts: list[Ints] = []
    for order in range(1, ORDER + 1):
        here = np.flatnonzero(depth >= order - 1)
        before = ids[-1][here - 1] if order > 1 else np.zeros(len(here), np.int64)
        key, first, inverse = np.unique(before * size + tokens[here], return_index=True, return_inverse=True)
        full = np.full(len(tokens), -1)
        full[here] = inverse
        ids.append(full)
        keys.append(key)
        firsts.append(here[first])
    levels: list[Level] = []
    lower = np.full(size, 1.0 / size)
    for order in range(1, ORDER + 1):
        parent, symbol = keys[order - 1] // size, keys[order - 1] % size
        counts = np.bincount(ids[order - 1][ids[order - 1] >= 0], minlength=len(parent)).astype(float)
        if order < ORDER:  # continuation counts, except where the n-gram starts a word
            kinds = np.bincount(ids[order - 1][firsts[order]], minlength=len(parent)).astype(float)
            at_start = depth[firsts[order - 1]] == order - 1
            counts = np.where(at_start | (kinds == 0), counts, kinds)
        total = np.bincount(parent, weights=counts)[parent]
        types = np.bincount(parent)[parent]
        weight = DISCOUNT * types / total
        shorter = lower[symbol] if order == 1 else 10 ** levels[-1].probability[ids[order - 2][firsts[order - 1]]]
        probability = np.log10((counts - DISCOUNT) / total + weight * shorter)
        levels.append(Level(parent, symbol, probability, np.zeros(len(parent))))
        if order > 1:
            levels[-2].backoff[parent] = np.log10(weight)
    return prune(levels, ids, firsts)


def prune(levels: list[Level], ids: list[Ints], firsts: list[Ints], threshold: float = 0.6) -> list[Level]:
    """Drop n-grams that say little more than their shorter context; n-grams with kept children stay."""
    keep = [np.ones(len(levels[0].parent), bool)]
    for order in range(1, len(levels)):
        level = levels[order]
        times = np.bincount(ids[order][ids[order] >= 0], minlength=len(level.parent))
        shorter = levels[order - 1].probability[ids[order - 1][firsts[order]]]
        gain = times * np.abs(level.probability - levels[order - 1].backoff[level.parent] - shorter)
        keep.append((gain > threshold) & ((times > 1) | (order < 3)))
    for order in range(len(levels) - 1, 0, -1):
        keep[order - 1][levels[order].parent[keep[order]]] = True
    pruned = []
    numbers = np.zeros(1, np.int64)
    for order, level in enumerate(levels):
        kept = keep[order]
        parent = numbers[level.parent[kept]] if order else level.parent[kept]
        pruned.append(Level(parent, level.symbol[kept], level.probability[kept], level.backoff[kept]))
        numbers = np.cumsum(kept) - 1
    return pruned


def pack(graphones: list[str], levels: list[Level]) -> bytes:
    """The file that `SpellingModel` reads: a JSON line, then per order children, symbols, probabilities, back-offs."""
    sizes = [len(level.parent) for level in levels]
    header = json.dumps({"format": FORMAT, "graphones": graphones, "sizes": sizes}, ensure_ascii=False)
    parts = [header.encode() + b"\n"]
    above = 1
    for order, level in enumerate(levels):
        children = np.bincount(level.parent, minlength=above)
        above = len(level.parent)
        parts.append(children.astype("<u2").tobytes())
        parts.append(level.symbol.astype("<u2").tobytes())
        parts.append(np.clip(np.round(-level.probability * 24), 0, 255).astype(np.uint8).tobytes())
        if order + 1 < len(levels):
            parts.append(np.clip(np.round(-level.backoff * 24), 0, 255).astype(np.uint8).tobytes())
    raw = b"".join(parts)
    return lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_CRC32)


def train(pairs: list[tuple[str, str]], rounds: int) -> bytes:
    data = corpus(pairs)
    found, good = aligned(data, rounds)
    print(f"aligned {good.sum()} of {len(pairs)} words")
    names = ["", *data.names, *(a + b for a in data.names for b in data.names)]
    inside = data.letters >= 0
    code = data.letters * len(names) + found
    used, counts = np.unique(code[good][inside[good]], return_counts=True)
    used = used[counts >= 10]
    good &= (np.isin(code, used) | ~inside).all(1)
    print(f"{len(used)} graphones, {good.sum()} words")
    end = len(used)
    table = np.full((good.sum(), data.letters.shape[1] + 2), -1)
    table[:, 0] = end  # the empty graphone stands at both ends of a word
    table[:, 1:-1] = np.where(inside[good], np.searchsorted(used, code[good]), -1)
    table[np.arange(len(table)), data.letter_counts[good] + 1] = end
    starts = np.zeros(table.shape, bool)
    starts[:, 0] = True
    flat = table.ravel() >= 0
    levels = count_levels(table.ravel()[flat], starts.ravel()[flat], end + 1)
    print("n-grams:", [len(level.parent) for level in levels])
    graphones = [LETTERS[value // len(names)] + names[value % len(names)] for value in used.tolist()]
    return pack([*graphones, ""], levels)


def distance(first: list[str], second: list[str]) -> int:
    """Edits between two sequences."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def evaluate(packed: bytes, held_out: list[tuple[str, str]]) -> None:
    """Print phone and word error rates, with and without stress."""
    model = SpellingModel(packed)
    for label, unit, drop in (("with stress", UNIT, ""), ("without stress", re.compile("."), "ˈˌ")):
        edits = phones = wrong = 0
        for word, truth in held_out:
            said = model.read(word)
            a, b = (unit.findall(re.sub("[ˈˌ]", "", x) if drop else x) for x in (said, truth))
            edits += distance(a, b)
            phones += len(b)
            wrong += a != b
        print(f"{label}: phone error rate {edits / phones:.4f}, word error rate {wrong / len(held_out):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of alignment training")
    parser.add_argument("--evaluate", action="store_true", help="hold out 2,000 words and write nothing")
    arguments = parser.parse_args()
    pairs = lexicon()
    if arguments.evaluate:
        order = np.random.default_rng(0).permutation(len(pairs))
        held_out = [pairs[i] for i in order[:2000]]
        spellings = {word for word, _ in held_out}
        packed = train([pair for pair in pairs if pair[0] not in spellings], arguments.rounds)
        print(f"packed {len(packed)} bytes")
        evaluate(packed, held_out)
        return
    packed = train(pairs, arguments.rounds)
    arguments.out.write_bytes(packed)
    print(f"{arguments.out}: {len(packed)} bytes")


if __name__ == "__main__":
    main()
