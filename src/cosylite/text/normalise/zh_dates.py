"""Dates and times of day in Chinese words."""

import re

from cosylite.text.aligned import Replacement
from cosylite.text.normalise.zh_numbers import cardinal, digits

_TO = r"\s*(?:-|–|—|~|～|至|到)+\s*"
_YEAR = r"(?P<y>(?:1[0-9]|20|21)[0-9]{2})"
_MONTH, _DAY = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12][0-9]|3[01])"
_FULL = re.compile(rf"(?<![0-9.]){_YEAR}(?P<s>[-/.]){_MONTH}(?P=s){_DAY}(?![0-9]|\.[0-9])(?:日|号)?")
_YEAR_MONTH = re.compile(r"(?<![0-9.\-])(?P<y>(?:19|20)[0-9]{2})[-/](?P<m>0[1-9]|1[0-2])(?![0-9\-/.])")
_FOREIGN = re.compile(rf"(?<![0-9./]){_MONTH}/{_DAY}/(?P<y>(?:19|20)[0-9]{{2}})(?![0-9/])")
_SINCE_ZERO = re.compile(r"(?:(?<=公元前)|(?<=公元))(?P<y>[0-9]+)(?=年)")
_TITLE = re.compile(r"(?<=[《（(])(?P<y>(?:19|20)[0-9]{2})(?=[》）)])")
_NINETIES = re.compile(r"(?<![0-9])(?P<y>(?:19|20)[0-9]0)'?s(?![A-Za-z])")
_FESTIVAL = re.compile(r"(?<![0-9.])(?P<y>12\.12|11\.11|6\.18|3\.15|9\.11)(?=大促|购物|晚会|事件|活动|狂欢|促销)")
_SEASON = re.compile(r"(?<![0-9])(?P<a>(?:19|20)[0-9]{2})[-/](?P<b>[0-9]{2})(?=赛季|賽季|学年|學年|财年|年)")
_WEEKDAYS = re.compile(r"(?<=[周期][一二三四五六日天])\s*[-–—~～]+\s*(?=(?:周|星期)[一二三四五六日天])")
_YEARS = re.compile(
    rf"(?<![0-9.])(?P<a>(?:1[0-9]|20|21)[0-9]{{2}})(?P<n>年?){_TO}(?P<b>(?:1[0-9]|20|21)[0-9]{{2}})(?=年|学年|學年|赛季|财年|届|级|间|期|[）)])"
)
_YEAR_SIGN = re.compile(
    r"(?<![0-9.,])(?P<y>[0-9]{4}|0[0-9]|[6-9][1-9])(?=年(?!级|級|代|以?[上下内內前后後]|[多半来來]|的(?:历史|歷史|时间)|时间)|年代)"
)
_DECADE = re.compile(r"(?<![0-9.,])(?P<y>[0-9]{4})(?=年代)")
_CLASS = re.compile(
    r"(?<![0-9.,])(?P<y>(?:19|20)[0-9]{2}|0[0-9])(?=届|屆|级|級|款|赛季|賽季|学年|學年|财年|年度|版|秋|春|奥运|世界杯|欧洲杯|世博|亚运)"
)
_BORN = re.compile(r"(?<![0-9.,])(?P<y>[0-9][05])(?=后(?![来面天悔期退])|後(?![來面天悔期退]))")
_MONTH_DAY = re.compile(r"(?<![0-9.\-/])(?P<m>[1-9]|1[0-2])·(?P<d>[1-9]|[12][0-9]|3[01])(?![0-9])")
_DAY_RANGE = re.compile(rf"(?<![0-9.])(?P<a>[0-9]{{1,2}})(?P<n>[月日号號]){_TO}(?=[0-9]{{1,2}}[月日号號])")
_LEADING_ZERO = re.compile(r"(?<![0-9.])0(?=[1-9][月日号號])")
_CLOCK_RANGE = re.compile(
    rf"(?<=[0-9点时半分]){_TO}(?=(?:凌晨|清晨|早上?|上午|中午|下午|傍晚|晚上?|次日)?[0-9]{{1,2}}(?:[:：][0-5][0-9]|[点时]))"
)
_ZERO = re.compile(r"(?<=[点點时時分])0(?P<d>[1-9])(?=[分秒])")
_HALF = r"(?P<half>\s?(?:[AaPp]\.?[Mm]\.?)(?![A-Za-z]))?"
_CLOCK = re.compile(
    rf"(?<![0-9.:：])(?P<h>[01]?[0-9]|2[0-4])[:：](?P<m>[0-5][0-9])(?:[:：](?P<s>[0-5][0-9]))?(?![0-9:：]|\.[0-9]){_HALF}"
)
_HOUR = re.compile(r"(?<![0-9.:])(?P<h>1[0-2]|0?[1-9])\s?(?P<half>[AaPp]\.?[Mm]\.?)(?![A-Za-z])")
_SCORED = re.compile(
    r"(?:比分|比数|以|战成|戰成|打成|领先|落后|战胜|击败|大胜|险胜|[胜负勝負平]|比例|比率|配比|按|总分)[^0-9，。,;；]{0,6}$"
)
_WON = re.compile("(?:获胜|战胜|击败|大胜|险胜|取胜|胜出|领先|落后|战平|逆转|惜败|告负|不敌)")
_LASTED = re.compile(r"(?:成绩|用时|时长|耗时|长达|历时|播放)[^0-9，。,;；]{0,4}$")


def _spoken_year(year: str) -> str:
    return digits(year) + "年"


def _date(match: re.Match[str]) -> str:
    return f"{_spoken_year(match['y'])}{cardinal(match['m'].lstrip('0'))}月{cardinal(match['d'].lstrip('0'))}日"


def _year_month(match: re.Match[str]) -> str:
    return f"{_spoken_year(match['y'])}{cardinal(match['m'].lstrip('0'))}月"


def _years(match: re.Match[str]) -> str:
    return f"{digits(match['a'])}{match['n']}到{digits(match['b'])}"


def _year(match: re.Match[str]) -> str:
    return digits(match["y"])


def _clock(match: re.Match[str]) -> str | None:
    before = match.string[max(match.start() - 16, 0) : match.start()]
    if not match["s"] and (_SCORED.search(before) or _WON.match(match.string, match.end())):
        return None
    hour, minute, second = match["h"], match["m"], match["s"]
    if _LASTED.search(before):
        return _duration(hour, minute, second)
    half, hour = _half_of_day(match["half"], hour)
    if second and int(second):
        return f"{half}{_hour_word(hour)}点{_two(minute)}分{_two(second)}秒"
    return f"{half}{_hour_word(hour)}点" + (f"{_two(minute)}分" if int(minute) else "")


def _duration(first: str, second: str, third: str | None) -> str:
    if third:
        return f"{_hour_word(first)}小时{_plain(second)}分{_plain(third)}秒"
    return f"{_hour_word(first)}分{_plain(second)}秒"


def _half_of_day(mark: str | None, hour: str) -> tuple[str, str]:
    if not mark:
        return "", hour
    if mark.strip()[0] in "Aa":
        return "上午", "0" if int(hour) == 12 else hour
    return ("晚上" if 6 <= int(hour) < 12 else "中午" if int(hour) == 12 else "下午"), hour


def _hour(match: re.Match[str]) -> str:
    half, hour = _half_of_day(match["half"], match["h"])
    return f"{half}{_hour_word(hour)}点"


def _hour_word(hour: str) -> str:
    return "两" if int(hour) == 2 else cardinal(str(int(hour)))


def _two(number: str) -> str:
    return digits(number) if number[0] == "0" and number != "00" else cardinal(str(int(number)))


def _plain(number: str) -> str:
    return cardinal(str(int(number)))


RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_FULL, _date),
    (_FOREIGN, _date),
    (_SINCE_ZERO, _year),
    (_TITLE, _year),
    (_FESTIVAL, _year),
    (_NINETIES, lambda match: digits(match["y"]) + "年代"),
    (_SEASON, lambda match: digits(match["a"]) + "到" + digits(match["b"])),
    (_WEEKDAYS, "到"),
    (_YEARS, _years),
    (_YEAR_MONTH, _year_month),
    (_DECADE, _year),
    (
        _YEAR_SIGN,
        lambda match: None if match["y"] in ("1000", "2000", "3000") and _spans(match) else digits(match["y"]),
    ),
    (_CLASS, _year),
    (_BORN, _year),
    (_MONTH_DAY, lambda match: digits(match["m"] + match["d"])),
    (_DAY_RANGE, lambda match: cardinal(match["a"]) + match["n"] + "到"),
    (_LEADING_ZERO, ""),
    (_ZERO, lambda match: "零" + digits(match["d"])),
    (_CLOCK_RANGE, "到"),
    (_CLOCK, _clock),
    (_HOUR, _hour),
)


def _spans(match: re.Match[str]) -> bool:
    """Whether a round number before 年 is a length of time: 近2000年, 2000年前."""
    before = match.string[max(match.start() - 2, 0) : match.start()]
    return before.endswith(("近", "约", "約", "过", "了", "这", "超过"))
