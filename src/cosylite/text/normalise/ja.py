"""Japanese normalisation: what the dictionary cannot read is written out.

Plain numbers stay digits, because the dictionary joins them with the counter that follows (8本 is ハッポン).
"""

import re
from collections.abc import Callable, Iterable

from cosylite.text.aligned import AlignedText
from cosylite.text.normalise.ja_tables import ABBREVIATIONS, ADDRESS_WORDS, CENTS, LETTERS, MONEY, SIGNS, UNITS
from cosylite.text.normalise.ko_signs import plain_signs

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]]
_NUMBER = r"\d+(?:\.\d+)?"
_RANGE = "[~∼〜～]"
_DIGITS = ("ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュー")


def normalise(text: AlignedText) -> AlignedText:
    """Japanese text that the dictionary reads right."""
    text = plain_signs(text)
    for pattern, replacement in _RULES:
        text = text.sub(pattern, replacement)
    return text


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _digits(number: str) -> str:
    """Digit by digit; 2 and 5 are long inside a group."""
    return "".join(_DIGITS[int(digit)] for digit in number)


def _email(match: re.Match[str]) -> str:
    return _address(match[1]) + " アットマーク " + _address(match[2])


def _url(match: re.Match[str]) -> str:
    address = re.sub("^[a-z]+://", "", match.group(), flags=re.IGNORECASE)
    return _address(address.rstrip(".,!?/")) + "".join(re.findall(r"[.,!?]+$", address))


def _address(address: str) -> str:
    names = {
        ".": "ドット",
        "/": "スラッシュ",
        "-": "ハイフン",
        "_": "アンダーバー",
        "+": "プラス",
        "=": "イコール",
        "&": "アンド",
    }
    names |= {"?": "クエスチョン", ":": "コロン", "#": "シャープ", "%": "パーセント", "~": "チルダ"}
    spoken = []
    for part in re.findall(r"[A-Za-z]+|\d+|.", address):
        if part.isdecimal():
            spoken.append(_digits(part))
        else:
            spoken.append(names.get(part) or ADDRESS_WORDS.get(part.lower()) or part)
    return " ".join(spoken)


def _letters(match: re.Match[str]) -> str:
    return "".join(LETTERS[letter.upper()] for letter in match.group())


def _date(match: re.Match[str]) -> str | None:
    month, day = int(match[2]), int(match[3])
    return f"{match[1]}年{month}月{day}日" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _month_day(match: re.Match[str]) -> str | None:
    month, day = int(match[1]), int(match[2])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    weekday = f"{match[3]}曜" if match[3] else ""
    return f"{month}月{day}日{weekday}"


def _year_month(match: re.Match[str]) -> str:
    return f"{match[1]}年{int(match[2])}月"


def _time(match: re.Match[str]) -> str | None:
    hour, minute = int(match[1]), int(match[2])
    before = match.string[max(0, match.start() - 8) : match.start()]
    if hour > 30 or minute > 59 or re.search("スコア|比率|割合|得点|比は|比が", before):
        return None
    spoken = f"{hour}時" + (f"{minute}分" if minute or match[3] else "")
    return spoken + (f"{int(match[3])}秒" if match[3] else "")


def _half_day(match: re.Match[str]) -> str:
    name = "午前" if (match[1] or match[4])[0] in "aA" else "午後"
    time = match[2] or match[3]
    return name + time + ("時" if ":" not in time else "")


def _groups(match: re.Match[str]) -> str:
    country = "プラス" if match.group().startswith("+") else ""
    return country + "ノ ".join(_digits(group) for group in re.findall(r"\d+", match.group()))


def _postcode(match: re.Match[str]) -> str:
    return f"郵便番号{_digits(match[1])}ノ{_digits(match[2])}"


def _fraction(match: re.Match[str]) -> str | None:
    """`1/3` is a fraction; `5/3`, where the first number is greater, a day if it can be one."""
    if 12 >= int(match[1]) > int(match[2]) > 0:
        return f"{match[1]}月{match[2]}日"
    return f"{match[2]}分の{match[1]}" if set(match[2]) != {"0"} else None


def _single_fraction(match: re.Match[str]) -> str:
    top, bottom = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8)}[
        match.group()
    ]
    return f"{bottom}分の{top}"


def _money(match: re.Match[str]) -> str:
    unit, amount, scale = MONEY[match[1]], match[2], match[3] or ""
    whole, _, part = amount.partition(".")
    if len(part) == 2 and unit in CENTS and not scale:
        return f"{whole}{unit}" + (f"{int(part)}{CENTS[unit]}" if int(part) else "")
    scale = {"K": "千", "k": "千", "M": "百万", "B": "十億"}.get(scale, scale)
    return f"{amount}{scale}{unit}"


def _speed(match: re.Match[str]) -> str:
    time = "時速" if match[3].endswith("h") else "秒速"
    return f"{match[1] or time}{match[2]}{'メートル' if match[3] == 'm/s' else 'キロメートル'}"


def _unit(match: re.Match[str]) -> str:
    return ("マイナス" if match[1] else "") + match[2] + UNITS[match[3]]


def _fahrenheit(match: re.Match[str]) -> str:
    return f"華氏{'マイナス' if match[1] else ''}{match[2]}度"


def _hyphen(match: re.Match[str]) -> str:
    """`3-2で勝った` is a score, `10-20分` a range, `1-2-3` an address."""
    after = match.string[match.end() : match.end() + 24]
    before = match.string[max(0, match.start() - 24) : match.start()]
    if re.search("(?:スコア|得点|試合)[^、。]{0,6}$", before) or re.match(
        "(?:で|の)?(?:勝|負|敗|逆転|引き分け|完封|快勝|勝利)", after
    ):
        return f"{match[1]}対{match[2]}"
    if len(match[1]) == len(match[2]) == 4 or re.match("[分時日人年月名歳個本枚頁円度ページ%]|シーズン", after):
        return f"{match[1]}から{match[2]}"
    return f"{match[1]}の{match[2]}"


def _weekdays(match: re.Match[str]) -> str:
    names = dict(zip("月火水木金土日", ("ゲツ", "カ", "スイ", "モク", "キン", "ド", "ニチ"), strict=True))
    return f"{names[match[1]]}から{names[match[2]]}"


def _version(match: re.Match[str]) -> str:
    return "テン".join(_digits(part) if len(part) > 2 else part for part in match.group().split("."))


def _pressure(match: re.Match[str]) -> str | None:
    before = match.string[max(0, match.start() - 8) : match.start()]
    return f"{match[1]}の{match[2]}" if "血圧" in before else None


def _long_number(match: re.Match[str]) -> str:
    return _digits(match.group())


_RULES: tuple[_Rule, ...] = (
    (
        re.compile(r"(?<![A-Za-z0-9._%+-])([A-Za-z0-9._%+-]{1,64})@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})"),
        _email,
    ),
    (re.compile(r"(?:https?|ftp)://[!-~]+|(?<![A-Za-z0-9])www\.[!-~]+", re.IGNORECASE), _url),
    (
        re.compile(
            r"(?<![A-Za-z0-9.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:com|net|org|jp|kr|io|ai|dev|cn|edu|gov|me"
            r"|tv|app|info)(?![A-Za-z])"
            r"(?:/[!-~]*)?"
        ),
        _url,
    ),
    (
        re.compile(rf"(?<![A-Za-z0-9])(?:{_any_of(ABBREVIATIONS)})(?:(?<=\.)|(?![A-Za-z0-9]))"),
        lambda match: ABBREVIATIONS[match.group()],
    ),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), lambda match: ""),
    (
        re.compile(
            r"(?<![A-Za-z])(?:([AaPp])\.?[Mm]\.?\s?(\d{1,2}(?::\d\d)?)(?!\d)"
            r"|(\d{1,2}(?::\d\d)?)\s?([AaPp])\.?[Mm](?![A-Za-z])\.?)"
        ),
        _half_day,
    ),
    (re.compile(r"(?<![\d.])(\d{4})[./-](\d{1,2})[./-](\d{1,2})(?![\d.])"), _date),
    (re.compile(r"(?<![\d./-])(\d{4})[/.](0?[1-9]|1[0-2])(?![\d./-])"), _year_month),
    (re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})\s?[(（]([月火水木金土日])(?:曜日?)?[)）]"), _month_day),
    (re.compile(r"(?<![一-龥])([月火水木金土日])(?=\d{1,2}[:：][0-5]\d)"), lambda match: f"{match[1]}曜"),
    (re.compile(r"(?<=\d[:：][0-5]\d)\s?[-–]\s?(?=\d{1,2}[:：][0-5]\d)"), lambda match: "から"),
    (re.compile(r"(?<![\d:])(\d{1,2})[:：]([0-5]\d)(?:[:：]([0-5]\d))?(?![\d:])"), _time),
    (re.compile(r"(?<!\d)(\d+)\s?[:：]\s?(\d+)(?!\d)"), lambda match: f"{match[1]}対{match[2]}"),
    (re.compile(r"〒\s?(\d{3})-?(\d{4})(?!\d)"), _postcode),
    (re.compile(r"\+\d{1,3}[- ]?\(?\d{1,4}\)?(?:[- ]?\d{3,4}){1,3}(?!\d)"), _groups),
    (
        re.compile(
            r"(?<![\d-])\(?0\d{1,4}[-()（） ]{1,2}\d{1,4}[-) ]\d{3,4}(?!\d)"
            r"|(?<!\d)0[5789]0\d{8}(?!\d)"
        ),
        _groups,
    ),
    (re.compile(r"(?<![\d-])(?:0\d{1,3}-\d{2,4}-\d{3,4}|\d{2,6}(?:-\d{2,7}){2,})(?!\d)"), _groups),
    (re.compile(r"(?<!\d)110(?=番(?![目線地号]))"), lambda match: "ヒャクトー"),
    (re.compile(r"(?<!\d)(\d{2,3})\s?/\s?(\d{2,3})(?!\d)"), _pressure),
    (re.compile(r"(?<!\d)(\d+)\s?/\s?(\d+)"), _fraction),
    (re.compile("[½⅓⅔¼¾⅕⅛]"), _single_fraction),
    (re.compile(rf"({_any_of(MONEY)})\s?({_NUMBER})([KkMB](?![A-Za-z])|[千万億兆]|百万|千万)?"), _money),
    (re.compile(r"(?<=\d)[xX](?=\d)"), lambda match: "かける"),
    (re.compile(rf"(?:(時速|秒速|風速)\s?)?(?<![\d.])({_NUMBER})\s?(km/h|m/s|km/s)(?![A-Za-z])"), _speed),
    (re.compile(rf"(?<![\d.])([-−–])?({_NUMBER})\s?(?:℉|°F)"), _fahrenheit),
    (re.compile(rf"(?<![\d.])([-−–](?=\d))?({_NUMBER})\s?({_any_of(UNITS)})(?![A-Za-z])"), _unit),
    (re.compile(rf"(?<=\d[千万億兆])\s?({_any_of(UNITS)})(?![A-Za-z])"), lambda match: UNITS[match[1]]),
    (re.compile(rf"(?<=[\d年月日時分秒人個円回歳度本枚名割ルトム])\s?{_RANGE}\s?(?=[\d前後])"), lambda match: "から"),
    (re.compile(rf"(?<=曜){_RANGE}|(?<=曜日){_RANGE}|(?<=円){_RANGE}(?![\d¥])"), lambda match: "から"),
    (re.compile(rf"([月火水木金土]){_RANGE}([火水木金土日])(?![一-龥])"), _weekdays),
    (re.compile(rf"(?<=[\d時分日年月]){_RANGE}"), lambda match: "から"),
    (re.compile(r"(?<![\d.])\d+(?:\.\d+){2,}"), _version),
    (re.compile(r"(?<![\d-])\d+(?:-\d+){2,}(?!\d)"), lambda match: match.group().replace("-", "の")),
    (re.compile(r"(?<=\d)[-−–](?=\d+\s?=)"), lambda match: "ひく"),
    (re.compile(r"(?<![\d.])(\d+)[-−–](\d+)(?![\d.])"), _hyphen),
    (re.compile(r"(?<=[\dA-Za-z²³)])\s?=\s?"), lambda match: "イコール"),
    (re.compile(r"(?<=[\dxy²³)])\s?\+\s?(?=[\dxy(])"), lambda match: "たす"),
    (re.compile(r"(?<=[\dxy²³)])\s?×\s?(?=[\dxy(])"), lambda match: "かける"),
    (re.compile(r"(?<=[\dxy²³)])\s?÷\s?(?=[\dxy(])"), lambda match: "わる"),
    (re.compile(r"(?<=[\dxy²³)])(?:\s?[−–]\s?|\s-\s)(?=[\dxy(])"), lambda match: "ひく"),
    (re.compile(r"(?<![\dA-Za-zァ-ヺー])[-−–](?=\d)"), lambda match: "マイナス"),
    (re.compile(r"(?<![\d.])0\d+(?![\d.年月日時分秒歳回人])|\d{17,}"), _long_number),
    (re.compile(r"(?<![A-Za-z])[A-Z]{1,5}(?![A-Za-z])"), _letters),
    (re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])"), _letters),
    (re.compile(rf"[{re.escape(''.join(SIGNS))}〜～]"), lambda match: SIGNS.get(match.group(), "ー")),
)
