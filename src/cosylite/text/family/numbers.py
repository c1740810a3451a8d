"""English words for numbers, as the official front-end writes them."""

# fmt: off
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GROUPS = (
    "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion",
    "octillion", "nonillion", "decillion",
)
# fmt: on


def number_words(value: int) -> str:
    """Words of a whole number from 0 up; one too large to have a name is read digit by digit."""
    if value >= 1000 ** (len(_GROUPS) + 1):
        return " ".join(_SMALL[int(digit)] for digit in str(value))
    if value < 1000:
        return _below_thousand(value)
    groups: list[str] = []
    rest, power = divmod(value, 1000)[0], 0
    tail = value % 1000
    while rest:
        rest, group = divmod(rest, 1000)
        if group:
            groups.insert(0, f"{_below_thousand(group)} {_GROUPS[power]}")
        power += 1
    words = ", ".join(groups)
    if not tail:
        return words
    return f"{words}{' and ' if tail < 100 else ', '}{_below_thousand(tail)}"


def _below_thousand(value: int) -> str:
    if value < 20:
        return _SMALL[value]
    if value < 100:
        ten, one = divmod(value, 10)
        return _TENS[ten - 2] + (f"-{_SMALL[one]}" if one else "")
    hundred, rest = divmod(value, 100)
    return f"{_SMALL[hundred]} hundred" + (f" and {_below_thousand(rest)}" if rest else "")
