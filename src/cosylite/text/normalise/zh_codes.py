"""Addresses, telephone numbers and codes: what is read character by character."""

import re

from cosylite.text.aligned import Replacement
from cosylite.text.normalise.zh_numbers import cardinal, digits
from cosylite.text.normalise.zh_tables import ADDRESS_MARKS

_TOP = "com|cn|net|org|edu|gov|io|ai|co|me|tv|info|top|xyz|app|dev|hk|tw|jp|kr|uk|us|de|fr|cc"
_FILES = "pdf|docx?|xlsx?|pptx?|txt|csv|jpe?g|png|gif|mp[34]|wav|zip|rar|py|js|json|html?|exe|apk|md"
_NAME = r"[A-Za-z0-9][A-Za-z0-9\-]*"
_URL = re.compile(r"(?<![a-z])[a-z]{2,6}://[!-~]*[A-Za-z0-9/]|www\.[!-~]*[A-Za-z0-9/]", re.ASCII)
_EMAIL = re.compile(rf"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9._%+\-]+@(?:{_NAME}\.)+[A-Za-z]{{2,}}", re.ASCII)
_DOMAIN = re.compile(
    rf"(?<![A-Za-z0-9.\-])(?:{_NAME}\.)+(?:{_TOP})(?![A-Za-z0-9])(?:/[A-Za-z0-9._/\-]*[A-Za-z0-9/])?", re.ASCII
)
_FILE = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9_\-]+\.(?:{_FILES})(?![A-Za-z0-9])", re.ASCII)
_SUFFIX = re.compile(rf"(?<=[一-鿿])\.(?=(?:{_FILES})(?![A-Za-z0-9]))", re.ASCII)
_IP = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9]|\.[0-9])")
_HANDLE = re.compile(r"@(?=[A-Za-z_])")

_MOBILE = re.compile(r"(?<![0-9A-Za-z.])(?P<land>\+?86[ \-]?)?(?P<number>1[3-9][0-9](?:[ \-]?[0-9]{4}){2})(?![0-9])")
_LANDLINE = re.compile(
    r"(?<![0-9A-Za-z.])(?P<land>\+[0-9]{1,3}[ \-]?)?(?P<number>"
    r"[（(]?0[0-9]{2,3}[）)]?[ \-]?(?:[0-9]{7,8}|[0-9]{3,4}[ \-][0-9]{4})(?:[\-转轉][0-9]{1,5})?"
    r"|[48]00[ \-][0-9]{3}[ \-]?[0-9]{4}|400[0-9]{7})(?![0-9])"
)
_ABROAD = re.compile(r"\+[0-9]{1,3}(?:[ \-][0-9]{2,5}){2,4}(?![0-9])|\+[0-9]{9,14}(?![0-9])")
_GROUPS = re.compile(r"(?<![0-9A-Za-z.\-])[0-9]{2,}(?:-[0-9]{3,}){2,}(?![0-9\-])")
_CALLED = re.compile(
    r"(?:电话|電話|手机|手機|热线|熱線|拨打|撥打|致电|致電|传真|拨|撥|打|座机|客服|短信|微信|尾号|尾號|分机|分機|号码|號碼)"
    r"(?:号码?|號碼?|是|为|為|发送|至|到|[:：\s])*(?P<number>[0-9]{3,8}(?:-[0-9]{3,8})?)(?![0-9.个個元人次年月天块塊分点點万萬条條%:：,]|,[0-9])"
)
_CODE = re.compile(
    r"(?:验证码|驗證碼|密码|密碼|邮编|郵編|邮政编码|学号|學號|工号|编号|編號|订单号?|訂單號?|单号|卡号|账号|帳號|账户|身份证号?码?|证号|证件号码?|学籍号|QQ号?|"
    r"车牌号?|护照号?|ISBN|ID|id|UID|代码|股票代码|型号|序列号|流水号|条形码|口令|PIN码?|提取码|取件码|取餐码|群号?|频道)"
    r"(?:码|碼|是|为|為|[:：\s])*(?P<number>[0-9]{3,}(?:[\- ][0-9]+)*)(?![0-9.年])"
)
_EMERGENCY = re.compile(
    r"(?<![0-9.])(?P<number>110|119|120|122|12306|12315|12345|12333|10086|10010|10000|114|95[0-9]{3})(?=网|網|报警|報警|火警|急救|热线|熱線|客服|救护|台|指挥)"
)
_NAMED = re.compile(
    r"(?<![0-9.])(?P<number>985|211|996|315|911|618|520|404|007|1024)(?=大学|高校|院校|工程|工作制|大促|晚会|事件|购物节|活动|错误|作息|节|情人|年中)"
)
_ROOM = re.compile(
    r"(?<![0-9.第])(?P<number>[0-9]{3,4})(?=(?:号|號)?(?:房间|房間|房|室|教室|包厢|包间|宿舍|会议室|病房|寝室|公寓|柜台|登机口|国道|省道|航班|次列车|次高铁|路公交|路车|路公共|路电车|医院|所医院|中学))"
)
_LINE = re.compile(r"(?<![0-9.])(?P<number>[0-9]{3})(?=路(?![0-9程线段口]))")
_PLATE = re.compile(
    r"(?P<place>[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼]\s?[A-Z])[·•\-\s]?(?P<number>(?=[A-Z]*[0-9])[A-Z0-9]{5,6})(?![A-Z0-9])"
)
_VERSION = re.compile(r"(?<![0-9.])(?P<v>[vV]\.?)?(?P<number>[0-9]+(?:\.[0-9]+){2,4})(?![0-9]|\.[0-9])")
_V = re.compile(r"(?<![A-Za-z])(?P<v>[vV])\.?(?P<number>[0-9]+(?:\.[0-9]+)?)(?![0-9A-Za-z])")
_LETTERS = re.compile(
    r"(?<![A-Za-z0-9])(?P<a>[A-Za-z]+)(?P<dash>-?)(?P<number>[0-9]+(?:\.[0-9]+)?)(?![0-9.][0-9])(?P<b>[A-Z]{0,3}(?![A-Za-z]))"
)
_DASHED = re.compile(r"(?<![A-Za-z])(?P<a>[A-Za-z]{2,})-(?P<number>[0-9]{1,4})(?![0-9.])")
_MODEL = re.compile(r"(?<=波音)(?P<number>[0-9]{3})(?![0-9])")
_MIXED = re.compile(r"(?<![A-Za-z0-9])(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*[0-9])[A-Z0-9]{6,}(?![A-Za-z0-9])")
_LONG = re.compile(r"(?<![0-9.,])(?![0-9]*000(?![0-9]))[0-9]{9,}(?=[\s，。；、！？,;]|$)")
"""A number that nothing is counted with and nobody has grouped."""
_ROMAN = re.compile(
    r"(?:(?<=第)(?P<ranked>[IVX]{1,5})|(?<![A-Za-z])(?P<long>(?:I{2,3}|IV|VI{1,3}|IX|XI{1,3}|XIV|XVI{0,3}|XIX))(?=[型级級类類期世章卷部区區度代号號])"
    r"|(?<![A-Za-z])(?P<one>[IV])(?=[型级級类類期世度]))(?![A-Za-z])"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}


def _address(match: re.Match[str]) -> str:
    return "".join(digits(c) if c.isdigit() else c if c.isalpha() else ADDRESS_MARKS.get(c, "") for c in match.group())


def _telephone(match: re.Match[str]) -> str:
    land = "加" + digits(match.group("land")) if match.group("land") else ""
    number = re.sub("[转轉-](?=[0-9]{1,5}$)", "转" if re.search("[转轉]", match.group()) else "", match.group("number"))
    return land + "".join("转" if c == "转" else digits(c, "幺") for c in number)


def _abroad(match: re.Match[str]) -> str:
    return "加" + digits(match.group(), "幺")


def _number_of(one: str) -> Replacement:
    """Reads the group `number` digit by digit and keeps the rest of the match."""

    def replace(match: re.Match[str]) -> str:
        start, end = (edge - match.start() for edge in match.span("number"))
        text = match.group()
        return text[:start] + digits(text[start:end], one) + text[end:]

    return replace


def _plate(match: re.Match[str]) -> str:
    return match.group("place").replace(" ", "") + _spelt(match.group("number"))


def _spelt(text: str) -> str:
    return "".join(digits(c, "幺") if c.isdigit() else c for c in text)


def _version(match: re.Match[str]) -> str:
    return (match.group("v") or "")[:1] + _version_number(match.group("number"))


def _version_number(number: str) -> str:
    first, *others = number.split(".")
    return "点".join([cardinal(first), *map(digits, others)])


def _after_letters(match: re.Match[str]) -> str:
    """T3 -> T三, CA1234 -> CA幺二三四, GPT-4 -> GPT四, A4L -> A四L."""
    number = match.group("number")
    letters = match.group("a")
    long = len(number) > 2 and "." not in number and not (letters.islower() or number.endswith("00"))
    return letters + (digits(number, "幺") if long else cardinal(number)) + match.group("b")


def _after_dash(match: re.Match[str]) -> str:
    number = match.group("number")
    return match.group("a") + (digits(number) if len(number) > 2 else cardinal(number))


def _roman(match: re.Match[str]) -> str:
    values = [_ROMAN_VALUES[letter] for letter in match.group()]
    total = sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))
    return cardinal(str(total))


RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_URL, _address),
    (_EMAIL, _address),
    (_DOMAIN, _address),
    (_FILE, _address),
    (_SUFFIX, "点"),
    (_IP, _address),
    (_HANDLE, "艾特"),
    (_PLATE, _plate),
    (_MOBILE, _telephone),
    (_LANDLINE, _telephone),
    (_ABROAD, _abroad),
    (_CODE, _number_of("一")),
    (_CALLED, _number_of("幺")),
    (_EMERGENCY, _number_of("幺")),
    (_NAMED, _number_of("幺")),
    (_ROOM, _number_of("幺")),
    (_LINE, _number_of("幺")),
    (_LONG, lambda match: digits(match.group(), "幺")),
    (_GROUPS, lambda match: digits(match.group(), "幺")),
    (_MODEL, _number_of("幺")),
    (_ROMAN, _roman),
)
"""Before dates and amounts."""
LATE_RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_VERSION, _version),
    (_V, _version),
    (_MIXED, lambda match: _spelt(match.group())),
    (_LETTERS, _after_letters),
    (_DASHED, _after_dash),
)
"""Behind dates (2024.10.1 is no version) and money (USD100 is no code)."""
