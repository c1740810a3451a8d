"""Which Korean counters take native numerals, and how a number before a counter is read."""

import re

from cosylite.text.normalise.ko_numbers import decimal, native, sino

_ALWAYS_NATIVE = re.compile("살|달(?!러|리)")
_NATIVE = re.compile(
    "시간|개(?!월|국|년|소|교|사|조|비|정)|명|마리|권(?!역)|자루|병(?!동|실|원)|잔"
    "|그루|송이|켤레|벌|채|척|판|통(?!화|신)|장(?!관)|편(?!의)"
    "|가지|곳|사람|줄|쌍|짝|가닥|조각|모금|방울|포기|다발|묶음|뭉치|그릇|접시|컵"
    "|숟가락|숟갈|스푼|큰술|작은술|모(?=[를을와도,. ]|$)|상자|박스|봉지|갑|팩"
    "|캔|끼|바퀴|걸음|발자국|발(?=[의을이,. ]|$)|곡|골|차례|군데|팀|토막|겹|마디|문제"
    "|과목|단어|문장|가구|종류|나라|표(?=[를가로차,. ]|$)|칸|쪽지"
    "|배(?!럴|치|송|달)|알(?=[을의이씩,. ]|$)|톨|필|뼘|포대|자리(?=[가를에,. ]|$)"
    "|경기|세트|번째|번|친구|아이|형제|자매|집(?=[이을에,. ]|$)|학급"
)
_ORDINAL_PLACE = re.compile(
    r"번\s?(?:가[에로의]|출구|버스|문제|선수|홀|국도|채널|타자|게이트|좌석|방|트랙|창구|플랫폼"
    r"|승강장|답|주자|레인|포트|항목|정답|보기|국|지|시드|후보|테이블|칸|손님|마"
    r"|교향곡)"
)
_HOUR = re.compile("시(?!간|대|장|민|청|즌|도|리|집|위|내|군|가지)")
_MACHINES = re.compile(
    "(?:차|자동차|버스|컴퓨터|택시|비행기|항공기|노트북|자전거|트럭|기계|오토바이"
    "|텔레비전|TV|카메라|냉장고|에어컨|피아노|로봇|드론|세탁기|전화기|스마트폰|휴대폰"
    "|서버|열차|전투기|헬기|침대|승용차)"
    r"[가를을이도는은]?\s*$"
)
_GUESTS = re.compile(r"(?:손님|어르신|선생님|고객|교수님|신사|관객)\s*(?:이|께서)?\s*$")
_GLUED = re.compile("[년월일만억조경천백십여]|도(?![시로])|회(?=$|[^가-힣])")
_HANGUL = re.compile("[가-힣]")


def read_number(number: str, before: str, after: str) -> str:
    """Reading of `number` (digits, perhaps with a decimal point) between the texts `before` and `after`.

    Ends with a space where a counter follows that is a word of its own.
    """
    counter = after.lstrip(" ")
    spaced = len(counter) < len(after)
    spoken = _months(number, after) or _native(number, before, counter, spaced) or decimal(number)
    if number == "1" and re.match("[십백천만]", after):
        return ""
    if before.endswith("제"):
        spoken = decimal(number)
    glued = spaced or not _HANGUL.match(after) or _GLUED.match(after) or _is_particle(after)
    return spoken if glued else spoken + " "


def _months(number: str, after: str) -> str | None:
    if re.match("월(?!드|급|세|요|등)", after):
        return {"6": "유", "06": "유", "10": "시"}.get(number, sino(number.lstrip("0") or "0"))
    if re.match("(?:일|시|분|초)(?![가-힣]*씩)", after) and re.fullmatch("0[0-9]", number):
        return _native(number[1], "", after, False) or sino(number[1])
    return None


def _native(number: str, before: str, counter: str, spaced: bool) -> str | None:
    """The native numeral where the counter asks for one."""
    if "." in number or len(number) > 2 or number.startswith("0") or re.search(r"제\s?$", before):
        return None
    value = int(number)
    if _HOUR.match(counter) and not spaced:
        return native(value) if value <= 12 else None
    if counter.startswith("번째"):
        return "첫" if value == 1 else native(value)
    if _ALWAYS_NATIVE.match(counter):
        return native(value)
    if counter.startswith("대"):
        return native(value) if _counts_machines(value, before, counter) else None
    if counter.startswith("분"):
        return native(value) if _GUESTS.search(before) and value < 40 else None
    if _NATIVE.match(counter) and not _ORDINAL_PLACE.match(counter):
        return native(value) if value < (21 if counter.startswith("시간") else 40) else None
    return None


def _counts_machines(value: int, before: str, counter: str) -> bool:
    """대 counts machines; 20대 is an age, 3대 2 a score, 4대 보험 "the big four"."""
    if re.match(r"대\s*\d", counter) or value > 39:
        return False
    if _MACHINES.search(before):
        return True
    return value % 10 != 0 and re.match("대(?:[가를의로와도만,.!?]|$)", counter) is not None


def _is_particle(after: str) -> bool:
    """A particle or ending after a bare number is part of the word."""
    return (
        re.match(
            "(?:은|는|이|가|을|를|에|에서|으로|로|와|과|도|만|의|입니다|이다|이며|이고|보다|부터|까지)(?![가-힣])",
            after,
        )
        is not None
    )
