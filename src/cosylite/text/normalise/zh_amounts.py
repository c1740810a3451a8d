"""Money, percentages, fractions, ranges, units and sums in Chinese words."""

import re
from decimal import Decimal

from cosylite.text.aligned import Replacement
from cosylite.text.normalise.zh_numbers import cardinal, digits
from cosylite.text.normalise.zh_tables import CURRENCIES, MEASURES, SCALES, UNITS

NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_N = rf"(?:{NUMBER})"
_TO = r"\s*(?:-|–|—|~|～|∼|〜|−)+\s*"
_CHINESE_SCALE = "[百千万萬亿億]*"
_FREE = r"(?<![0-9.,A-Za-z])"
_MINUS = (
    r"(?:(?<![0-9A-Za-z一-鿿%)）])[-−]|(?<=[为為是至到从從达達跌降约約於于零])[-−]"
    r"|(?<=[一-鿿])[-−](?=[0-9]+(?:\.[0-9]+)?\s?[%％‰万亿億元℃])|−)"
)


def _any(names: dict[str, str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_SIGNS = {name: word for name, word in CURRENCIES.items() if name != "円"}
_MONEY = re.compile(
    rf"(?P<minus>[-−])?(?<![A-Za-z])(?P<c>{_any(_SIGNS)})\s?(?P<n>{_N})(?:{_TO}(?:{_any(_SIGNS)})?(?P<to>{_N}))?"
    rf"\s?(?P<s>(?:million|billion|bn|[KkMmB])(?![A-Za-z])|{_CHINESE_SCALE}(?![克瓦]))(?P<unit>元|块钱?|美元|人民币)?"
)
_MONEY_CODE = re.compile(rf"{_FREE}(?P<n>{_N})\s?(?P<s>{_CHINESE_SCALE})\s?(?P<c>{_any(CURRENCIES)})(?![A-Za-z0-9])")
_PERCENT_RANGE = re.compile(
    rf"{_FREE}(?P<a>[-−+]?{_N})\s?(?P<ap>[%％‰])?(?:{_TO}|\s*[至到]\s*)(?P<b>[-−+]?{_N})\s?(?P<p>[%％‰])"
)
_PERCENT = re.compile(rf"(?P<sign>[-−+＋±](?<![0-9A-Za-z].))?(?P<n>{_N})\s?(?P<p>[%％‰])")
_DEGREES = re.compile(
    rf"(?P<sign>(?<![0-9A-Za-z%])[-−+±])?(?P<n>{_N})(?:{_TO}(?P<m>[-−])?(?P<to>{_N}))?\s?(?P<u>℃|℉|°\s?[CF]|度)(?![A-Za-z])"
)
_ARC = re.compile(rf"(?P<d>{_N})\s?°(?:\s?(?P<m>[0-9]{{1,2}})\s?[′'](?:\s?(?P<s>{_N})\s?(?:″|\"|''))?)?")
_MINUTES = re.compile(r"(?<![0-9.])(?P<m>[0-9]{1,3})\s?[′']\s?(?P<s>[0-9]{1,2})\s?(?:″|\"|''|”)")
_MIXED_FRACTION = re.compile(r"(?<![0-9.,/])(?P<w>[0-9]+)[ +](?P<a>[0-9]{1,2})/(?P<b>[0-9]{1,3})(?![0-9/])")
_FRACTION = re.compile(r"(?<![0-9.,/])(?P<a>[0-9]+)\s?[/／⁄]\s?(?P<b>[0-9]+)(?![0-9/.])")
_PRESSURE = re.compile(r"(?P<head>血压[^0-9，。]{0,6})(?P<a>[0-9]{2,3})\s?/\s?(?P<b>[0-9]{2,3})(?P<u>\s?mmHg)?")
_HEIGHT = re.compile(r"(?<=[0-9]米)(?P<n>[0-9]{1,2})(?![0-9.米厘個个人分秒])")
_FIGURE = re.compile(
    r"(?:(?<=[图圖表题題])|(?<=公式))(?P<a>[0-9]{1,2})[-–](?P<b>[0-9]{1,2})(?![0-9\-.%个個人天年月日次元分])"
)
_PAGES = re.compile(r"(?<=[Pp])(?P<a>[0-9]{1,4})[-–~～](?P<b>[0-9]{1,4})(?=页|頁)")
_RATIO = re.compile(r"(?<![0-9.:：])[0-9]+(?:\.[0-9]+)?(?:\s?[:：∶]\s?[0-9]+(?:\.[0-9]+)?)+(?![0-9:：])")
_SCORE = re.compile(
    r"(?P<head>(?:比分|以|战成|打成|领先|落后|[胜负平]|总分)[^0-9，。,;；]{0,6})(?P<a>[0-9]{1,3})\s?[-–—−]\s?(?P<b>[0-9]{1,3})(?![0-9.])(?!\s?(?:%|天|年|个|人|元|岁|次|倍|周|月|小时|分钟))"
)
_SUM = re.compile(
    rf"(?<![A-Za-z])(?P<a>{_N}|(?<![A-Za-z])[A-Za-zπ](?![A-Za-z])|[)）²³])\s?(?P<o>[-−–])\s?(?P<b>{_N}|[A-Za-z](?![A-Za-z]))(?=\s?[-−–+＋×*÷/=＝≠≈<>≤≥²³)）])"
)
_RESULT = re.compile(r"(?<=[=＝(（+×÷*<>≤≥≈])[-−](?=[0-9])")
_POWER = re.compile(rf"(?P<a>{_N}|[A-Za-zπ)）])\s?(?:\^\s?(?P<e>[-−]?[0-9]+|[a-z])|(?P<u>[⁻⁰¹²³⁴-⁹ⁿ]+))")
_SCIENTIFIC = re.compile(r"(?<![A-Za-z0-9.])(?P<n>[0-9]+(?:\.[0-9]+)?)[eE](?P<e>[-+−]?[0-9]+)(?![0-9A-Za-z.])")
_TIMES = re.compile(r"(?<=[0-9米])\s?[xX×*✕]\s?(?=[0-9])")
_TIMES_ALONE = re.compile(r"(?<![A-Za-z0-9])[xX×*](?=[0-9]+(?![0-9A-Za-z]))")
_RANGE = re.compile(
    rf"(?<![0-9.,A-Za-z\-])(?P<a>{_N})(?P<u>[%％℃°]?|{_CHINESE_SCALE}[元米岁歲年天]?)(?:(?:-|–|—|−)|\s*[~～∼〜]+\s*)(?P<b>{_N})(?![0-9\-])"
)
_STARS = re.compile("(?<=[0-9])[★☆⭐](?!\\ufe0f?[★☆⭐])")
_TILDE = re.compile(r"(?<=[一-鿿A-Za-z0-9%])\s*[~～∼〜]+\s*(?=[0-9¥￥$])")
_UNIT_RANGE = re.compile(
    rf"(?<=[0-9])(?P<u>(?:{_any(UNITS)})(?:/(?:{_any(UNITS)}))?)\s*[-–—~～]\s*(?=[0-9.]+\s?(?P=u))"
)
_UNIT = re.compile(
    rf"(?P<n>{_N})(?P<s>{_CHINESE_SCALE})\s?(?P<u>{_any(UNITS)})(?:\s?/\s?(?P<per>{_any(UNITS)}))?(?![A-Za-z²³]|(?<=[A-Z])[级級类類区區栋棟班座股型版])"
)
_PER = re.compile(
    r"(?<=[一-鿿])\s?/\s?(?=(?:分钟?|秒|小时|天|年|月|周|日|次|晚|吨|斤|公斤|升|平方米|个|户|台|股)(?![一-鿿]))"
)
_PER_UNIT = re.compile(
    rf"(?<=[元块斤克米升里次度字角币镑焦卡帕瓦时钟吨人])\s?/\s?(?P<u>{_any(UNITS)}|(?=[一-鿿]))(?![A-Za-z0-9])"
)
_MINUS_NUMBER = re.compile(rf"(?:{_MINUS})(?=[0-9])")
_NUMBERED = re.compile(r"(?:(?<![A-Za-z])(?:No|NO|no)\.?\s?|№\s?|#)(?=[0-9])")
_LIANG = re.compile(
    rf"(?<![0-9.,第点點零一二三四五六七八九十百两初周期数數])2\s?(?=[{MEASURES}])(?!\s?(?:月|日|号|號|层楼|点[0-9]|年级|年級|分之|等|元月|季度))"
)
_NUMERAL = re.compile(_N)


def _counted(number: str, unit: str) -> str:
    """A number before a unit: two metres are 两米."""
    return "两" if number == "2" and unit[:1] in MEASURES else cardinal(number)


def _money(match: re.Match[str]) -> str:
    word = CURRENCIES[match["c"]]
    number, scale = match["n"], match["s"] or ""
    if scale in SCALES:
        number = format(Decimal(number.replace(",", "")) * SCALES[scale], "f")
        number, scale = (number.rstrip("0").rstrip(".") if "." in number else number), ""
    minus = "负" if match["minus"] else ""
    if match["to"]:
        return f"{minus}{cardinal(number)}到{_counted(match['to'], scale or word)}{scale}{word}"
    return f"{minus}{_counted(number, scale or word)}{scale}{word}"


def _money_code(match: re.Match[str]) -> str:
    word = CURRENCIES[match["c"]]
    return _counted(match["n"], match["s"] or word) + match["s"] + word


def _pressure(match: re.Match[str]) -> str:
    unit = UNITS["mmHg"] if match["u"] else ""
    return f"{match['head']}{cardinal(match['a'])}、{cardinal(match['b'])}{unit}"


def _part(number: str, sign: str) -> str:
    prefix = {"-": "负", "−": "负", "+": "正", "＋": "正", "±": "正负"}.get(number[0], "")
    number = number.lstrip("-−+＋±")
    base = "百分之" if sign in "%％" else "千分之"
    return prefix + base + ("百" if number == "100" and base == "百分之" else cardinal(number))


def _percent_range(match: re.Match[str]) -> str:
    return _part(match["a"], match["p"]) + "到" + _part(match["b"], match["p"])


def _percent(match: re.Match[str]) -> str:
    return _part((match["sign"] or "") + match["n"], match["p"])


def _degrees(match: re.Match[str]) -> str | None:
    unit = {"℃": "摄氏度", "℉": "华氏度", "度": "度"}.get(match["u"]) or ("摄氏度" if "C" in match["u"] else "华氏度")
    if unit == "度" and not (match["sign"] or match["to"]):
        return None
    sign = {"-": "零下", "−": "零下", "+": "零上", "±": "正负", None: ""}[match["sign"]]
    if match["to"]:
        return f"{sign}{cardinal(match['n'])}到{'零下' if match['m'] else ''}{cardinal(match['to'])}{unit}"
    return sign + (cardinal(match["n"]) if sign else _counted(match["n"], "度")) + unit


def _arc(match: re.Match[str]) -> str:
    minutes = cardinal(match["m"]) + "分" if match["m"] else ""
    seconds = cardinal(match["s"]) + "秒" if match["s"] else ""
    return cardinal(match["d"]) + "度" + minutes + seconds


def _fraction(match: re.Match[str]) -> str:
    return f"{cardinal(match['b'])}分之{cardinal(match['a'])}"


def _mixed(match: re.Match[str]) -> str:
    return f"{cardinal(match['w'])}又{_fraction(match)}"


def _ratio(match: re.Match[str]) -> str:
    return "比".join(cardinal(number) for number in _NUMERAL.findall(match.group()))


def _power(match: re.Match[str]) -> str:
    exponent = (match["e"] or match["u"].translate(_SUPERSCRIPTS)).replace("−", "-")
    base = cardinal(match["a"]) if match["a"][0].isdigit() else match["a"]
    if exponent in ("2", "3") and not match["e"]:
        return base + ("的平方" if exponent == "2" else "的立方")
    power = ("负" if exponent[0] == "-" else "") + (
        cardinal(exponent.lstrip("-")) if exponent[-1].isdigit() else exponent
    )
    return f"{base}的{power}次方"


def _scientific(match: re.Match[str]) -> str:
    exponent = match["e"].replace("−", "-")
    return f"{cardinal(match['n'])}乘以十的{'负' if exponent[0] == '-' else ''}{cardinal(exponent.lstrip('+-'))}次方"


def _range(match: re.Match[str]) -> str:
    unit = match["u"]
    return f"{cardinal(match['a'])}{unit}到{match['b']}"


def _unit(match: re.Match[str]) -> str:
    word = UNITS[match["u"]]
    per = "每" + UNITS[match["per"]] if match["per"] else ""
    return _counted(match["n"], match["s"] or word) + match["s"] + word + per


def _per_unit(match: re.Match[str]) -> str:
    return "每" + UNITS.get(match["u"], "")


_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ", "-0123456789n")

RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (re.compile(r"(?<![0-9])24/7(?![0-9])"), "二十四七"),
    (_HEIGHT, lambda match: digits(match["n"])),
    (_FIGURE, lambda match: f"{cardinal(match['a'])}杠{cardinal(match['b'])}"),
    (_PAGES, lambda match: f"{cardinal(match['a'])}到{cardinal(match['b'])}"),
    (_PRESSURE, _pressure),
    (_MONEY, _money),
    (_MONEY_CODE, _money_code),
    (_PERCENT_RANGE, _percent_range),
    (_PERCENT, _percent),
    (_DEGREES, _degrees),
    (_ARC, _arc),
    (_MINUTES, lambda match: f"{cardinal(match['m'])}分{cardinal(match['s'])}秒"),
    (_NUMBERED, "第"),
    (_SCIENTIFIC, _scientific),
    (_SCORE, lambda match: f"{match['head']}{cardinal(match['a'])}比{cardinal(match['b'])}"),
    (_UNIT_RANGE, lambda match: "每".join(UNITS[unit] for unit in match["u"].split("/")) + "到"),
)
LATE_RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_UNIT, _unit),
    (_PER, "每"),
    (_PER_UNIT, _per_unit),
    (_STARS, "星"),
    (_POWER, _power),
    (_MIXED_FRACTION, _mixed),
    (_FRACTION, _fraction),
    (_RATIO, _ratio),
    (_RESULT, "负"),
    (_SUM, lambda match: f"{match['a']}减{match['b']}"),
    (_TIMES, "乘"),
    (_TIMES_ALONE, "乘"),
    (_RANGE, _range),
    (_TILDE, "到"),
    (_MINUS_NUMBER, "负"),
    (_LIANG, "两"),
    (_NUMERAL, lambda match: cardinal(match.group())),
)
"""Behind the codes with letters."""
