"""Numbers in Chinese words."""

DIGITS = "零一二三四五六七八九"
LONGEST = 16
"""Digits of the longest whole number that is read as an amount; longer ones are read digit by digit."""


def digits(text: str, one: str = "一") -> str:
    """Digit by digit; `one` is 幺 in telephone, room and flight numbers. Other characters are dropped."""
    return "".join(one if d == "1" else DIGITS[int(d)] for d in text if d.isascii() and d.isdigit())


def cardinal(text: str) -> str:
    """An amount: `1204` -> 一千二百零四, `12.50` -> 十二点五零, `1,000` -> 一千. Leading zeros: digit by digit."""
    whole, point, fraction = text.replace(",", "").partition(".")
    by_digit = len(whole) > LONGEST or (len(whole) > 1 and whole[0] == "0")
    spoken = digits(whole) if by_digit else _whole(int(whole or "0"))
    return spoken + ("点" + digits(fraction) if point and fraction else "")


def _whole(number: int) -> str:
    if number == 0:
        return DIGITS[0]
    parts: list[str] = []
    for scale, name in ((10**12, "万亿"), (10**8, "亿"), (10**4, "万"), (1, "")):
        count, number = divmod(number, scale)
        if not count:
            if parts and number and not parts[-1].endswith(DIGITS[0]):
                parts.append(DIGITS[0])
            continue
        gap = parts and count < 1000 and not parts[-1].endswith(DIGITS[0])
        spoken = _below_ten_thousand(count)
        if spoken == "二" and name:
            spoken = "两"
        parts.append((DIGITS[0] if gap else "") + spoken + name)
    result = "".join(parts)
    return result[1:] if result.startswith("一十") else result


def _below_ten_thousand(number: int) -> str:
    result = ""
    gap = False
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        count, number = divmod(number, scale)
        if not count:
            gap = bool(result)
            continue
        digit = "两" if count == 2 and scale == 1000 else DIGITS[count]
        result += (DIGITS[0] if gap else "") + digit + name
        gap = False
    return result
