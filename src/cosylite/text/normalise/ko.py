"""Korean normalisation: numbers, dates, times, money, units, addresses, signs to hangul."""

import re
import unicodedata
from collections.abc import Callable, Iterable

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ko_jamo import coda_of
from cosylite.text.normalise.ko_counters import read_number
from cosylite.text.normalise.ko_numbers import decimal, digits, native, sino
from cosylite.text.normalise.ko_signs import plain_signs
from cosylite.text.normalise.ko_tables import ABBREVIATIONS, CENTS, MONEY, ROMAN, SIGNS, UNITS

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]]
_NUMBER = r"\d+(?:\.\d+)?"
_REACH = 24
_RANGE = "[~∼〜～]"


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def normalise(text: AlignedText) -> AlignedText:
    """Korean text with every written form as words. Latin words stay for the reader."""
    text = plain_signs(text)
    for pattern, replacement in _RULES:
        text = text.sub(pattern, replacement)
    return text


def _left(match: re.Match[str]) -> str:
    """What stands before the match, as far as it matters."""
    return match.string[max(0, match.start() - _REACH) : match.start()]


def _right(match: re.Match[str]) -> str:
    return match.string[match.end() : match.end() + _REACH]


def _email(match: re.Match[str]) -> str:
    return _dotted(match[1]) + " 골뱅이 " + _dotted(match[2])


def _url(match: re.Match[str]) -> str:
    address = re.sub("^[a-z]+://", "", match.group())
    trailing = re.search(r"[.,!?]*$", address)
    end = trailing.group() if trailing else ""
    return _dotted(address[: len(address) - len(end)].rstrip("/")) + end


def _dotted(address: str) -> str:
    """An address with its signs as words and its digits one by one."""
    names = {
        ".": " 닷 ",
        "/": " 슬래시 ",
        "-": " 하이픈 ",
        "_": " 언더바 ",
        "+": " 플러스 ",
        "=": " 는 ",
        "?": " 물음표 ",
    }
    names |= {"&": " 앤드 ", ":": " 콜론 ", "#": " 샵 ", "%": " 퍼센트 ", "~": " 물결 "}
    spoken = "".join(names.get(character, character) for character in address)
    return re.sub(r"\d+", lambda found: f" {digits(found.group())} ", spoken).strip()


def _date(match: re.Match[str]) -> str | None:
    year, month, day = match[1], int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{sino(year)}년 {_month(month)} {sino(str(day))}일"


def _month(month: int) -> str:
    return {6: "유", 10: "시"}.get(month, sino(str(month))) + "월"


def _month_day(match: re.Match[str]) -> str | None:
    month, day = int(match[1]), int(match[2])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{_month(month)} {sino(str(day))}일 {match[3]}요일"


def _commemoration(match: re.Match[str]) -> str:
    """Days known by their date: 3·1, 6.25."""
    return digits("".join(re.findall(r"\d", match.group())), "영")


def _year_month(match: re.Match[str]) -> str | None:
    return f"{sino(match[1])}년 {_month(int(match[2]))}" if 1 <= int(match[2]) <= 12 else None


def _time(match: re.Match[str]) -> str | None:
    hour, minute = int(match[1]), int(match[2])
    before = match.string[max(0, match.start() - 14) : match.start()]
    if hour > 24 or minute > 59 or re.search("스코어|점수|비율|비는|대결|승리|이겼|졌", before):
        return None
    spoken = (native(hour) if 1 <= hour <= 12 else sino(str(hour))) + " 시"
    if minute or match[3]:
        spoken += f" {sino(str(minute))} 분"
    if match[3]:
        spoken += f" {sino(str(int(match[3])))} 초"
    return spoken


def _half_day(match: re.Match[str]) -> str:
    name = "오전" if (match[1] or match[4])[0] in "aA" else "오후"
    return f"{name} {match[2] or match[3]}" + ("시" if ":" not in (match[2] or match[3]) else "")


def _groups(match: re.Match[str]) -> str:
    """Digit groups one digit at a time: telephone and account numbers."""
    country = "플러스 " if match.group().startswith("+") else ""
    return country + " ".join(digits(group) for group in re.findall(r"\d+", match.group()))


def _emergency(match: re.Match[str]) -> str:
    return digits(match.group())


def _approximate(match: re.Match[str]) -> str:
    return {"1,2": "한두 ", "2,3": "두세 ", "3,4": "서너 ", "5,6": "대여섯 "}[match[1]]


def _fraction(match: re.Match[str]) -> str | None:
    """`1/3` is a fraction; `5/3`, where the first number is greater, a day if it can be one."""
    if set(match[2]) == {"0"}:
        return None
    if 12 >= int(match[1]) > int(match[2]):
        return f"{_month(int(match[1]))} {sino(str(int(match[2])))}일"
    return f"{sino(match[2])}분의 {sino(match[1])}"


def _single_fraction(match: re.Match[str]) -> str:
    top, _, bottom = unicodedata.normalize("NFKC", match.group()).partition("⁄")
    return f"{sino(bottom)}분의 {sino(top)}" if bottom else sino(top)


def _pressure(match: re.Match[str]) -> str | None:
    return f"{sino(match[1])}에 {sino(match[2])}" if re.search("혈압[^,.]{0,6}$", _left(match)) else None


def _score(match: re.Match[str]) -> str:
    return f"{sino(match[1])} 대 {sino(match[2])}"


def _money(match: re.Match[str]) -> str:
    unit = MONEY[match[1]]
    amount, scale = match[2], match[3] or ""
    whole, _, part = amount.partition(".")
    if len(part) == 2 and unit in CENTS and not scale:
        cents = f" {sino(str(int(part)))} {CENTS[unit]}" if int(part) else ""
        return f"{sino(whole)} {unit}{cents}"
    scale = {"K": "천", "k": "천", "M": "백만", "B": "십억"}.get(scale, scale)
    return f"{decimal(amount)}{scale} {unit}"


def _unit(match: re.Match[str]) -> str:
    name = UNITS[match[3]]
    if match[3] in ("℃", "°C"):
        sign = "영하 " if match[1] else ""
        return f"{sign}{decimal(match[2])} {name}"
    sign = "마이너스 " if match[1] else ""
    if name.startswith("화씨"):
        return f"화씨 {sign}{decimal(match[2])} 도"
    return f"{sign}{decimal(match[2])} {name}"


def _speed(match: re.Match[str]) -> str:
    time = "시속" if match[3].endswith("h") else "초속"
    return f"{match[1] or time} {match[2]}{'m' if match[3] == 'm/s' else 'km'}"


def _range(match: re.Match[str]) -> str | None:
    """`5~6명`: what follows the second number belongs to the first, too, where numerals are native."""
    after = _right(match)
    if re.match("월(?!드|급|세|요)", after):
        return f"{_month(int(match[1]))}에서 {match[2]}" if match[1].isdigit() else None
    counter = re.match("[가-힣]+?(?=[은는이가을를의에로와도만씩 ,.!?]|$)", after)
    first = read_number(match[1], "", after)
    if counter and not match[1].startswith("0") and first.strip() != decimal(match[1]):
        return f"{first.strip()} {counter.group()}에서 {match[2]}"
    return f"{first.strip()}에서 {match[2]}"


def _chain(match: re.Match[str]) -> str:
    return " 다시 ".join(sino(group) for group in match.group().split("-"))


def _hyphen(match: re.Match[str]) -> str:
    """`10-20분` is a range, `2-1로 이겼다` a score, `12-3번지` an address."""
    first, second = match[1], match[2]
    after = _right(match)
    if (
        len(first) == len(second) == 4
        or re.match(r"\s?(?:시즌|학년)", after)
        or (re.match(r"\s?(?:쪽|페이지|분|시간|일|명|개|년|월|세|살|도|도씨|주|회|원|만|%)", after))
    ):
        return f"{first}에서 {second}"
    if re.search("(?:스코어|점수|경기|전반|후반|세트|연장|이겼|이긴|졌|승리|패배)[가-힣 ]*$", _left(match)) or re.match(
        r"(?:로|으로)?\s?(?:이[기겼긴]|승|패|무승부|졌|지고|역전|완승|완패|앞)", after
    ):
        return f"{sino(first)} 대 {sino(second)}"
    return f"{sino(first)} 다시 {sino(second)}"


def _equals(match: re.Match[str]) -> str:
    before = _left(match).rstrip()
    last = before[-1:] if before else ""
    if last.isdecimal():
        last = "영일이삼사오육칠팔구"[int(last)]
    return ("은 " if last and coda_of(last) else "는 ") if last else " 는 "


def _comparison(match: re.Match[str]) -> str:
    last = decimal(match[1]).strip()[-1]
    return f"{match[1]}{'은' if coda_of(last) else '는'} {match[3]}보다 {'작다' if match[2] == '<' else '크다'}"


def _operator(match: re.Match[str]) -> str:
    return {"+": " 더하기 ", "-": " 빼기 ", "−": " 빼기 ", "–": " 빼기 ", "×": " 곱하기 ", "x": " 곱하기 "}.get(
        match[1], " 나누기 "
    )


def _number(match: re.Match[str]) -> str:
    return read_number(match.group(), _left(match), _right(match))


def _version(match: re.Match[str]) -> str:
    return " 점 ".join(
        sino(part) if index == 0 else digits(part, "영") for index, part in enumerate(match.group().split("."))
    )


def _numeral(match: re.Match[str]) -> str | None:
    """Any other character that is a number: digits of other scripts, raised and lowered ones."""
    if not match.group().isdigit():
        return None
    value = unicodedata.numeric(match.group())
    return sino(str(int(value))) if value == int(value) else ""


_RULES: tuple[_Rule, ...] = (
    (
        re.compile(r"(?<![A-Za-z0-9._%+-])([A-Za-z0-9._%+-]{1,64})@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})"),
        _email,
    ),
    (re.compile(r"(?:https?|ftp)://[!-~]+|(?<![A-Za-z0-9])(?:www\.)[!-~]+", re.IGNORECASE), _url),
    (
        re.compile(
            r"(?<![A-Za-z0-9.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:com|net|org|kr|io|ai|dev|jp|cn|edu|gov|me"
            r"|tv|app|info)(?![A-Za-z])"
            r"(?:/[!-~]*)?"
        ),
        _url,
    ),
    (
        re.compile(rf"(?<![A-Za-z0-9])(?:{_any_of(ABBREVIATIONS)})(?:(?<=\.)|(?![A-Za-z0-9]))"),
        lambda match: ABBREVIATIONS[match.group()],
    ),
    (re.compile(r"(?:(시속|초속)\s?)?(?<![\d.,])(\d[\d,]*(?:\.\d+)?)\s?(km/h|㎞/h|kph|m/s|km/s)(?![A-Za-z])"), _speed),
    (re.compile("[Ⅰ-Ⅻ]"), lambda match: ROMAN[match.group()]),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), lambda match: ""),
    (
        re.compile(
            r"(?<![A-Za-z])(?:([AaPp])\.?[Mm]\.?\s?(\d{1,2}(?::\d\d)?)|(\d{1,2}(?::\d\d)?)\s?([AaPp])\.?[Mm](?![A-Za-z])\.?)"
        ),
        _half_day,
    ),
    (re.compile(r"(?<![\d.])(\d{4}|(?<=['’])\d{2})[./-]\s?(\d{1,2})[./-]\s?(\d{1,2})(?!\d)\.?(?=[^\d]|$)"), _date),
    (re.compile(r"(?<![\d.-])(\d{4})[./-](0[1-9]|1[0-2])(?![\d.-])"), _year_month),
    (re.compile(r"(?<=\d:[0-5]\d)\s?[-–]\s?(?=\d{1,2}:[0-5]\d)"), lambda match: "에서 "),
    (re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?![\d:])"), _time),
    (re.compile(r"(?<!\d)(\d+)\s?:\s?(\d+)(?!\d)"), _score),
    (re.compile(r"\+\d{1,3}[- ]?\(?\d{1,4}\)?(?:[- ]?\d{3,4}){1,3}(?!\d)"), _groups),
    (re.compile(r"(?<![\d-])\(?0\d{1,3}\)?[-. ]?\d{3,4}[-. ]\d{4}(?!\d)|(?<!\d)01\d{8,9}(?!\d)"), _groups),
    (
        re.compile(r"(?<!\d)(?:1[5-9]\d\d-\d{4}|0\d{2,3}-\d{3,4}|080-\d{3}-\d{3,4}|\d{2,6}(?:-\d{2,7}){2,})(?!\d)"),
        _groups,
    ),
    (re.compile(r"(?<!\d)1(?:1[0-9]|20|01|32|88)(?=(?:에|로|으로|나|번으로|구급|구조|신고|센터)(?!\d))"), _emergency),
    (re.compile(r"(?<=\d일)\s?[(（]([월화수목금토일])(?:요일)?[)）]"), lambda match: f" {match[1]}요일"),
    (
        re.compile(r"(?<![\d,.])(1,2|2,3|3,4|5,6)(?=\s?(?:명|개(?!월)|번|시간|마리|달|사람|잔|병|권|가지))"),
        _approximate,
    ),
    (re.compile(r"(?<![\d,.])(\d),\s?(\d)(?=월)"), lambda match: sino(match[1]) + sino(match[2])),
    (re.compile(r"([1-4])/4\s?분기"), lambda match: f"{sino(match[1])}사분기"),
    (re.compile(r"(\d{1,2})/(\d{1,2})\s?[(（]([월화수목금토일])(?:요일)?[)）]"), _month_day),
    (re.compile(r"\d{1,2}\.\d{1,2}(?=\s?(?:전쟁|혁명|민주|광복절|절(?![가-힣])|사태|사변|운동|참전))"), _commemoration),
    (re.compile(r"(?<!\d)(\d{2,3})\s?/\s?(\d{2,3})(?!\d)"), _pressure),
    (
        re.compile(r"(?<![\d.])(\d+\.\d+)\s?/\s?(\d+)(?![\d.])"),
        lambda match: f"{sino(match[2])}분의 {decimal(match[1])}",
    ),
    (re.compile(r"(?<!\d)(\d+)\s?/\s?(\d+)"), _fraction),
    (re.compile(rf"({_NUMBER})\^(\d+)"), lambda match: f"{match[1]}의 {sino(match[2])}제곱"),
    (re.compile(r"(?<=\d)[xX](?=\d)"), lambda match: " 곱하기 "),
    (re.compile(r"(?<![\dA-Za-z가-힣)²³ ])\+(?=\d)"), lambda match: "플러스 "),
    (re.compile(r"(?<=[가-힣]\s)\+(?=\d)"), lambda match: "플러스 "),
    (re.compile("[¼-¾⅐-⅞]"), _single_fraction),
    (re.compile(r"(?<!\d)\d+(?:[·ㆍ‧]\d+)+"), _commemoration),
    (re.compile(rf"({_any_of(MONEY)})\s?({_NUMBER})([KkMB](?![A-Za-z])|천|만|억|조|백만|천만)?"), _money),
    (re.compile(rf"(?<![\d.])({_NUMBER})\s?{_RANGE}\s?({_NUMBER})"), _range),
    (re.compile(rf"(?<=[%가-힣A-Za-z℃]){_RANGE}\s?(?=[-−\d월화수목금토일])"), lambda match: "에서 "),
    (re.compile(rf"(?<=[시분초일월년트]){_RANGE}\s?(?=[가-힣])"), lambda match: "에서 "),
    (re.compile(rf"(?<=\d)([시분일월년]?){_RANGE}"), lambda match: match[1] + "부터"),
    (re.compile(r"(?<![\d.])\d+(?:\.\d+){2,}"), _version),
    (re.compile(r"(?<![\d-])\d+(?:-\d+){2,}(?!\d)"), _chain),
    (re.compile(rf"(?<![\d.])([-−–](?=\d))?({_NUMBER})\s?({_any_of(UNITS)})(?![A-Za-z])"), _unit),
    (re.compile(rf"(?<=\d[천만억조])\s?({_any_of(UNITS)})(?![A-Za-z])"), lambda match: f" {UNITS[match[1]]}"),
    (re.compile(r"(?<=\d)[-−–](?=\d+\s?=)"), lambda match: " 빼기 "),
    (re.compile(r"(?<![\d.])(\d+)-(\d+)(?![\d.])"), _hyphen),
    (re.compile(rf"({_NUMBER})\s?([<>])\s?({_NUMBER})"), _comparison),
    (re.compile(r"(?<=\d)\s?\*\s?(?=\d)"), lambda match: " 곱하기 "),
    (re.compile(r"(?<=\d)\+(?!\s?\d)"), lambda match: " 플러스"),
    (re.compile(rf"(?<![\d가-힣A-Za-z]){_RANGE}(?=\d)"), lambda match: "약 "),
    (re.compile(r"(?<=[\d²³)A-Za-z가-힣])\s?=\s?(?=[-−\d(A-Za-z±√가-힣])"), _equals),
    (re.compile(r"(?<=[\d²³)xy])\s?([+×÷−–x]|(?<=\s)-(?=\s))\s?(?=[\d(xy])"), _operator),
    (re.compile(r"(?<![\d가-힣A-Za-z])[-−–](?=\d)"), lambda match: "마이너스 "),
    (re.compile(r"\+\s?(?=\d)"), lambda match: "플러스 "),
    (re.compile(r"(?<![\d.])0\d+(?!\.)(?=\D|$)(?![월일시분초])"), lambda match: digits(match.group())),
    (re.compile(_NUMBER, re.ASCII), _number),
    (re.compile(f"[{re.escape(''.join(SIGNS))}]"), lambda match: SIGNS[match.group()]),
    (re.compile(r"\d|[^\x00-\x7f가-힣一-鿿]"), _numeral),
    (re.compile(r"  +"), lambda match: " "),
)
