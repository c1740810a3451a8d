"""Kinds of text that were read wrongly once, through the whole frontend."""

import pytest

from cosylite.text.frontend import Frontend

CASES = """
en | We met on 2025-03-14T09:30 there. | We met on March fourteenth, twenty twenty-five, nine thirty there.
en | It's 5 x 7 = 35. | It's five times seven equals thirty-five.
en | 2 x 3 x 4 = 24 | two times three times four equals twenty-four
en | a 5 x 7 photo | a five by seven photo
en | It weighs 2.5t. | It weighs two point five tons.
en | an i7-13700K chip | an I seven one three seven zero zero K chip
en | Read vol. II by J.R.R. Tolkien at 3 p.m. GMT. | Read volume two by JRR Tolkien at three PM GMT.
en | She scored 9.75/10 on Level 3B. | She scored nine point seven five out of ten on Level three B.
en | open Sat 10–2 | open Saturday ten to two
en | Order #A-1029, Rm. 12B | Order number A one zero two nine, room twelve B
zh | 请拨打010-6552-8888转801。 | 请拨打零幺零六五五二八八八八转八零幺。
zh | 二〇二五年三月 | 二零二五年三月
zh | 上午9:00-下午5:30 | 上午九点到下午五点三十分
zh | 早上8点-晚上10点 | 早上八点到晚上十点
zh | 净利润-2.3亿元 | 净利润负二点三亿元
zh | 以21:19获胜，晚上21:19到家 | 以二十一比十九获胜，晚上二十一点十九分到家
zh | 在4x100米接力，身高1米75，用时1h30min | 在四乘一百米接力，身高一米七五，用时一小时三十分钟
zh | 周一~周五，2020/21年 | 周一到周五，二零二零到二一年
zh | 见图5-1，P12-15页，用2-3天 | 见图五杠一，P十二到十五页，用二到三天
zh | 一共20USD，合HK$15.9，跑了10万km | 一共二十美元，合十五点九港元，跑了十万公里
zh | 这首歌No.1 | 这首歌第一
zh | 血压120/80mmHg | 血压一百二十、八十毫米汞柱
ja | 令和7年3月14日、9月20日 | 令和7年3月14日、9月20日
ja | 昭和64年、1万5千円 | 昭和64年、1万5千円
ja | 2024-25シーズンの4x100m | 2024から25シーズンの4かける100メートル
ja | 土10:00-14:00に営業 | 土曜10時から14時に営業
ja | 血圧は120/80です | 血圧は120の80です
ko | 100%, 3%p, 1등 | 백 퍼센트, 삼 퍼센트포인트, 일 등
ko | 전반은 2-0이었다 | 전반은 이 대 영이었다
ko | 0-0 무승부 | 영 대 영 무승부
ko | 전년 대비 +53% | 전년 대비 플러스 오십삼 퍼센트
ko | 토 10:00-14:00 영업 | 토 열 시에서 십사 시 영업
ko | 혈압은 120/80 | 혈압은 백이십에 팔십
ko | 답은 5*6, 15+, ~5, 5<6, 12 > 7 | 답은 오 곱하기 육, 십오 플러스, 약 오, 오는 육보다 작다, 십이는 칠보다 크다
ko | 4x100m 계주, 4.5/5점 | 사 곱하기 백 미터 계주, 오분의 사 점 오점
ko | 2024-25 시즌은 | 이천이십사에서 이십오 시즌은
ko | 사고(思考)를 한다 | 사고를 한다
ko | 기온은 -5℃~-6℃ | 기온은 영하 오 도에서 영하 육 도
ko | 5번가에서 10만km | 오 번가에서 십만 킬로미터
"""


@pytest.fixture(scope="module")
def frontend() -> Frontend:
    return Frontend()


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_reading(frontend: Frontend, case: str) -> None:
    lang, written, spoken = case.split(" | ")
    spans = [span for sentence in frontend.analyse(written) for span in sentence.spans]
    assert {span.span.lang for span in spans} == {lang}
    assert "".join(span.normalised for span in spans).replace("〇", "零") == spoken


SIGNS = (
    "+5 5+ ±5 5% -5% 5.5 5-6 5~6 5:6 15:30:20 5/6 2½ 5² 5^4 5×6 5*6 5<6 $5 $5.50 €5 ¥5 ₩5000 5USD 5km² -5℃~-6℃ "
    "#5 v5.6 1e5 5,000"
)
TEMPLATES = {"en": "It was {} there.", "zh": "这是{}的。", "ja": "これは{}です。", "ko": "이것은 {} 입니다."}


@pytest.mark.parametrize("written", SIGNS.split())
@pytest.mark.parametrize("lang", [*TEMPLATES])
def test_no_digit_and_no_sign_is_dropped(frontend: Frontend, lang: str, written: str) -> None:
    text = TEMPLATES[lang].format(written)
    sentences = frontend.analyse(text)
    words = [word for sentence in sentences for word in sentence.words if word.symbols]
    spoken = {place for word in words for place in range(word.start, word.end)}
    said = [i for i, character in enumerate(text) if character.isnumeric() or character in "+±%$€¥₩"]
    assert spoken.issuperset(said)
    normalised = "".join(span.normalised for sentence in sentences for span in sentence.spans)
    assert not set("+^%$€¥₩=<>*~±×²½℃") & set(normalised)
