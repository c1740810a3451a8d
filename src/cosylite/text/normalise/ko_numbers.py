"""Korean numerals: Sino-Korean, native, and digit by digit. Numbers are strings of the digits 0-9."""

_DIGITS = "영일이삼사오육칠팔구"
_PLACES = ("", "십", "백", "천")
_MYRIADS = ("", "만", "억", "조", "경", "해")
_ONES = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")


def digits(number: str, zero: str = "공") -> str:
    """Digit by digit, as in telephone numbers."""
    return "".join(zero if digit == "0" else _DIGITS[int(digit)] for digit in number)


def sino(number: str) -> str:
    """Sino-Korean cardinal. A leading zero, or more digits than there are names for, is read digit by digit."""
    if len(number) > 4 * len(_MYRIADS) or (number[0] == "0" and number != "0"):
        return digits(number)
    if number == "0":
        return "영"
    groups = [number[max(0, end - 4) : end] for end in range(len(number), 0, -4)]
    words = ""
    for group, myriad in reversed(list(zip(groups, _MYRIADS, strict=False))):
        spoken = _up_to_9999(group)
        if spoken:
            words += ("" if spoken == "일" and myriad == "만" and not words else spoken) + myriad
    return words


def _up_to_9999(group: str) -> str:
    words = ""
    for place, digit in zip(reversed(_PLACES[: len(group)]), group, strict=True):
        if digit != "0":
            words += ("" if digit == "1" and place else _DIGITS[int(digit)]) + place
    return words


def decimal(number: str) -> str:
    """Cardinal with an optional decimal part (`175.5`)."""
    whole, _, fraction = number.partition(".")
    return sino(whole) + (f" 점 {digits(fraction, zero='영')}" if fraction else "")


def native(number: int) -> str:
    """Native numeral before a counter, 1 to 99: 한, 두, ... 스무, 스물한, ..."""
    if number == 20:
        return "스무"
    return _TENS[number // 10] + _ONES[number % 10]
