"""Korean written forms: exact spoken words, no digit left, every character keeps its place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.text.aligned import AlignedText
from cosylite.text.normalise.ko import normalise
from cosylite.text.normalise.ko_numbers import decimal, digits, native, sino

SPOKEN = """
2023년 12월 31일 23:59:59|이천이십삼년 십이월 삼십일일 이십삼 시 오십구 분 오십구 초
6월 6일 현충일|유월 육일 현충일
10월 9일 한글날|시월 구일 한글날
2025-01-15에 갱신|이천이십오년 일월 십오일에 갱신
1987. 5. 3.|천구백팔십칠년 오월 삼일
'24.10.1 출시|'이십사년 시월 일일 출시
12/25(수)|십이월 이십오일 수요일
17:00~18:30|십칠 시에서 십팔 시 삼십 분
AM 10:00|오전 열 시
PM 3:30 회의|오후 세 시 삼십 분 회의
9am에|오전 아홉 시에
0시를 넘겼다|영 시를 넘겼다
09시 05분|아홉 시 오 분
원주율은 3.14159|원주율은 삼 점 일사일오구
섭씨 36.5℃|섭씨 삼십육 점 오 도
기온은 -12.5도|기온은 마이너스 십이 점 오도
2/3가 찬성|삼분의 이가 찬성
½컵|이분의 일컵
1/4분기|일사분기
3㎏의 쌀|삼 킬로그램의 쌀
1.5L의 물|일 점 오 리터의 물
5GB 메모리|오 기가바이트 메모리
120km/h로|시속 백이십 킬로미터로
시속 60km|시속 육십 킬로미터
면적은 50㎡|면적은 오십 제곱미터
180cm, 75kg|백팔십 센티미터, 칠십오 킬로그램
₩12,500이고|만이천오백 원이고
$5.50입니다|오 달러 오십 센트입니다
€20.50|이십 유로 오십 센트
1만 2천 원|만 이천 원
3억 5000만 원|삼억 오천만 원
1,234,567원|백이십삼만사천오백육십칠 원
15,000원짜리 2개|만오천 원짜리 두 개
20% 할인|이십 퍼센트 할인
0.01%|영 점 영일 퍼센트
0.5%p 인상|영 점 오 퍼센트포인트 인상
5~6명|다섯 명에서 여섯 명
3~5시|세 시에서 다섯 시
1~2주|일에서 이 주
10%~20%|십 퍼센트에서 이십 퍼센트
월~금|월에서 금
오전 9시~|오전 아홉 시부터
10-15분|십에서 십오 분
1-0으로 승리|일 대 영으로 승리
스코어는 3:20|스코어는 삼 대 이십
제2위|제이 위
제3회 대회|제삼회 대회
3번째로 1번째|세 번째로 첫 번째
5번 출구|오 번 출구
3번 읽었다|세 번 읽었다
010-9876-5432|공일공 구팔칠육 오사삼이
02) 345-6789|공이 삼사오 육칠팔구
1588-0000|일오팔팔 공공공공
+82-10-1234-5678|플러스 팔이 일공 일이삼사 오육칠팔
119에 신고|일일구에 신고
info@test.co.kr|info 골뱅이 test 닷 co 닷 kr
https://www.naver.com/abc 접속|www 닷 naver 닷 com 슬래시 abc 접속
naver.com에서|naver 닷 com에서
㈜삼성|주식회사 삼성
No.1|넘버 일
Q&A|큐앤에이
한국 vs 일본|한국 대 일본
3+5=8|삼 더하기 오는 팔
7-3=4|칠 빼기 삼은 사
10×10=100|십 곱하기 십은 백
9÷3=3|구 나누기 삼은 삼
제Ⅲ장|제삼 장
①과 ②|일과 이
CO2 배출|씨오투 배출
5G 시대|파이브지 시대
007 가방|공공칠 가방
버전 2.0.1|버전 이 점 영 점 일
3·1절과 8·15|삼일절과 팔일오
6.25 전쟁|육이오 전쟁
소 3마리|소 세 마리
커피 2잔|커피 두 잔
나이는 33살|나이는 서른세 살
65세|육십오 세
21명|스물한 명
종이 20장|종이 스무 장
장미 11송이|장미 열한 송이
자동차 3대|자동차 세 대
20대 여성|이십 대 여성
3대 2|삼 대 이
3개월|삼 개월
5개국|오 개국
2박 3일|이 박 삼일
24시간|이십사 시간
10시간|열 시간
손님 3분|손님 세 분
101동 1203호|백일 동 천이백삼 호
21세기|이십일 세기
3학년 2반|삼 학년 이 반
""".strip().splitlines()


@pytest.mark.parametrize("case", SPOKEN)
def test_written_form_becomes_words(case: str) -> None:
    written, spoken = case.split("|")
    assert normalise(AlignedText.of(written)).text == spoken


def test_emoji_are_dropped() -> None:
    assert normalise(AlignedText.of("🎉축하 3️⃣")).text == "축하 삼"


@pytest.mark.parametrize(
    ("number", "spoken"),
    [
        ("0", "영"),
        ("10", "십"),
        ("11", "십일"),
        ("1000", "천"),
        ("10000", "만"),
        ("110000", "십일만"),
        ("100000000", "일억"),
        ("100010000", "일억일만"),
        ("20240", "이만이백사십"),
        ("007", "공공칠"),
        ("123456789012345678901234567890", "일이삼사오육칠팔구공" * 3),
    ],
)
def test_sino_numbers(number: str, spoken: str) -> None:
    assert sino(number) == spoken


def test_other_numerals() -> None:
    assert [native(number) for number in (1, 4, 20, 21, 99)] == ["한", "네", "스무", "스물한", "아흔아홉"]
    assert decimal("2.05") == "이 점 영오"
    assert digits("010") == "공일공"


def test_words_of_a_number_share_its_place() -> None:
    text = "사과 25개"
    normalised = normalise(AlignedText.of(text))
    start = normalised.text.index("스물")
    assert normalised.source(start, start + 4) == (3, 5)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_no_digit_is_left_in_any_text(text: str) -> None:
    normalised = normalise(AlignedText.of(text))
    assert not any(character.isdigit() for character in normalised.text)
    assert len(normalised.text) == len(normalised.starts) == len(normalised.ends)
    assert all(0 <= a < b <= len(text) for a, b in zip(normalised.starts, normalised.ends, strict=True))


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="0123456789,.-:/~%+()=₩$ 월일시분개명살대번년제A", max_size=24))
def test_no_digit_is_left_in_numbers(text: str) -> None:
    assert not any(character.isdigit() for character in normalise(AlignedText.of(text)).text)
