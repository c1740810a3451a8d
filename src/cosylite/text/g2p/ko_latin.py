"""Latin words inside Korean text: loanwords by list, all else by the Korean names of its letters or by syllables."""

import re
from types import MappingProxyType

from cosylite.text.g2p.ko_jamo import Syllable, join

LETTERS = MappingProxyType(
    dict(
        zip(
            "abcdefghijklmnopqrstuvwxyz",
            (
                *(
                    "에이",
                    "비",
                    "씨",
                    "디",
                    "이",
                    "에프",
                    "지",
                    "에이치",
                    "아이",
                    "제이",
                    "케이",
                    "엘",
                    "엠",
                    "엔",
                    "오",
                    "피",
                    "큐",
                ),
                *("알", "에스", "티", "유", "브이", "더블유", "엑스", "와이", "제트"),
            ),
            strict=True,
        )
    )
)
_LOANWORDS = """
apple=애플 google=구글 youtube=유튜브 facebook=페이스북 instagram=인스타그램 twitter=트위터 amazon=아마존
microsoft=마이크로소프트 windows=윈도우 android=안드로이드 iphone=아이폰 ipad=아이패드 mac=맥 samsung=삼성
galaxy=갤럭시 naver=네이버 kakao=카카오 line=라인 netflix=넷플릭스 tesla=테슬라 uber=우버 nvidia=엔비디아
intel=인텔 sony=소니 nike=나이키 adidas=아디다스 starbucks=스타벅스 computer=컴퓨터 internet=인터넷 online=온라인
offline=오프라인 email=이메일 mail=메일 website=웹사이트 web=웹 site=사이트 page=페이지 home=홈 homepage=홈페이지
server=서버 cloud=클라우드 data=데이터 database=데이터베이스 software=소프트웨어 hardware=하드웨어 app=앱
application=애플리케이션 program=프로그램 programming=프로그래밍 code=코드 coding=코딩 python=파이썬 java=자바
javascript=자바스크립트 linux=리눅스 docker=도커 github=깃허브 git=깃 open=오픈 source=소스 file=파일 folder=폴더
download=다운로드 upload=업로드 update=업데이트 upgrade=업그레이드 version=버전 login=로그인 logout=로그아웃
password=패스워드 user=유저 admin=어드민 account=어카운트 id=아이디 link=링크 click=클릭 mouse=마우스
keyboard=키보드 monitor=모니터 screen=스크린 tablet=태블릿 laptop=랩톱 notebook=노트북 phone=폰 smartphone=스마트폰
smart=스마트 mobile=모바일 camera=카메라 video=비디오 audio=오디오 music=뮤직 movie=무비 drama=드라마 game=게임
gamer=게이머 player=플레이어 play=플레이 star=스타 pop=팝 rock=락 jazz=재즈 hiphop=힙합 rap=랩 dance=댄스
party=파티 event=이벤트 show=쇼 live=라이브 concert=콘서트 album=앨범 band=밴드 fan=팬 idol=아이돌 group=그룹
member=멤버 coffee=커피 latte=라떼 americano=아메리카노 tea=티 juice=주스 beer=비어 wine=와인 pizza=피자
pasta=파스타 burger=버거 steak=스테이크 salad=샐러드 cake=케이크 ice=아이스 cream=크림 chocolate=초콜릿 cheese=치즈
bread=브레드 restaurant=레스토랑 cafe=카페 hotel=호텔 bus=버스 taxi=택시 truck=트럭 car=카 bike=바이크 road=로드
street=스트리트 park=파크 center=센터 tower=타워 building=빌딩 mall=몰 shop=숍 shopping=쇼핑 store=스토어
market=마켓 sale=세일 brand=브랜드 fashion=패션 style=스타일 design=디자인 designer=디자이너 model=모델 color=컬러
black=블랙 white=화이트 red=레드 blue=블루 green=그린 gold=골드 silver=실버 pink=핑크 size=사이즈 free=프리
best=베스트 good=굿 new=뉴 news=뉴스 top=톱 hot=핫 cool=쿨 happy=해피 love=러브 dream=드림 world=월드 korea=코리아
seoul=서울 busan=부산 china=차이나 japan=재팬 america=아메리카 europe=유럽 asia=아시아 global=글로벌
business=비즈니스 company=컴퍼니 team=팀 leader=리더 manager=매니저 project=프로젝트 meeting=미팅 schedule=스케줄
deadline=데드라인 report=리포트 presentation=프레젠테이션 interview=인터뷰 career=커리어 office=오피스
marketing=마케팅 startup=스타트업 service=서비스 system=시스템 platform=플랫폼 network=네트워크 solution=솔루션
consulting=컨설팅 bank=뱅크 card=카드 pay=페이 coin=코인 bitcoin=비트코인 blockchain=블록체인 robot=로봇 drone=드론
battery=배터리 energy=에너지 solar=솔라 hybrid=하이브리드 digital=디지털 analog=아날로그 media=미디어
content=콘텐트 contents=콘텐츠 channel=채널 studio=스튜디오 radio=라디오 podcast=팟캐스트 magazine=매거진 book=북
library=라이브러리 school=스쿨 class=클래스 test=테스트 level=레벨 point=포인트 score=스코어 sports=스포츠
golf=골프 tennis=테니스 soccer=사커 baseball=베이스볼 basketball=바스켓볼 gym=짐 yoga=요가 health=헬스 beauty=뷰티
skin=스킨 hair=헤어 medical=메디컬 clinic=클리닉 hello=헬로 hi=하이 bye=바이 thank=땡큐 you=유 yes=예스 no=노
please=플리즈 sorry=쏘리 ok=오케이 okay=오케이 and=앤드 or=오어 the=더 of=오브 in=인 on=온 for=포 with=위드 to=투
my=마이 your=유어 we=위 me=미 it=잇 is=이즈 one=원 two=투 three=쓰리 example=이그젬플 com=컴 net=넷 org=오알지
www=더블유더블유더블유 gmail=지메일 daum=다음 hanmail=한메일 go=고 co=씨오 kr=케이알 io=아이오 html=에이치티엠엘
index=인덱스 support=서포트 contact=콘택트 help=헬프 info=인포 docs=독스 blog=블로그 chat=챗 chatgpt=챗지피티
openai=오픈에이아이 kpop=케이팝 vlog=브이로그 wifi=와이파이 bluetooth=블루투스 usb=유에스비 nasa=나사
unesco=유네스코 unicef=유니세프 nato=나토 fifa=피파 ikea=이케아 covid=코비드 opec=오펙 apec=에이펙 asean=아세안
toeic=토익 toefl=토플
"""
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_ONSETS = MappingProxyType(
    {
        "b": "ㅂ", "c": "ㅋ", "d": "ㄷ", "f": "ㅍ", "g": "ㄱ", "h": "ㅎ", "j": "ㅈ", "k": "ㅋ", "l": "ㄹ",
        "m": "ㅁ", "n": "ㄴ", "p": "ㅍ", "q": "ㅋ", "r": "ㄹ", "s": "ㅅ", "t": "ㅌ", "v": "ㅂ", "w": "ㅇ",
        "x": "ㅈ", "y": "ㅇ", "z": "ㅈ", "ch": "ㅊ", "sh": "ㅅ", "th": "ㅅ", "ph": "ㅍ", "ck": "ㅋ",
    }
)  # fmt: skip
_VOWELS = MappingProxyType(
    {
        "a": "ㅏ", "e": "ㅔ", "i": "ㅣ", "o": "ㅗ", "u": "ㅜ", "y": "ㅣ", "ee": "ㅣ", "oo": "ㅜ", "ea": "ㅣ",
        "ai": "ㅔ", "ay": "ㅔ", "ou": "ㅏ", "ow": "ㅗ", "oa": "ㅗ", "er": "ㅓ", "or": "ㅗ", "ar": "ㅏ", "ir": "ㅓ",
        "ur": "ㅓ",
    }
)  # fmt: skip
_PARTS = re.compile("ch|sh|th|ph|ck|ee|oo|ea|ai|ay|ou|ow|oa|(?:[aeiou]r)(?![aeiouy])|[a-z]")
_GLIDES = MappingProxyType(
    {
        "w": MappingProxyType({"ㅏ": "ㅘ", "ㅔ": "ㅞ", "ㅣ": "ㅟ", "ㅓ": "ㅝ", "ㅗ": "ㅝ"}),
        "y": MappingProxyType({"ㅏ": "ㅑ", "ㅔ": "ㅖ", "ㅓ": "ㅕ", "ㅗ": "ㅛ", "ㅜ": "ㅠ"}),
    }
)
_CODAS = MappingProxyType({"n": "ㄴ", "m": "ㅁ", "l": "ㄹ", "p": "ㅂ", "k": "ㄱ", "ck": "ㄱ", "c": "ㄱ", "t": "ㅅ"})


class LatinReader:
    """Reads Latin words as hangul."""

    def __init__(self) -> None:
        self._words = dict(entry.split("=") for entry in _LOANWORDS.split())

    def knows(self, word: str) -> bool:
        """Whether the reading of a run of ASCII letters is more than a guess: a loanword, or letters by name."""
        return word.lower() in self._words or (word.isupper() and len(word) <= 5)

    def read(self, word: str) -> str:
        """Hangul for one run of ASCII letters."""
        lower = word.lower()
        if lower in self._words:
            return self._words[lower]
        has_vowel = re.search("[aeiouy]", lower) is not None
        if len(word) < 3 or word.isupper() or not has_vowel or re.search(f"[{_CONSONANTS}]{{4}}", lower):
            return "".join(LETTERS[letter] for letter in lower)
        return _transliterate(lower)


def _transliterate(word: str) -> str:
    """A rough reading by sounds; the last resort for words that no list has."""
    parts = _PARTS.findall(re.sub(r"([b-df-hj-np-tv-z])\1", r"\1", re.sub("(?<=[a-z]{2}[^aeiou])e$", "", word)))
    syllables: list[Syllable] = []
    onset = ""
    for index, part in enumerate(parts):
        vowel = _VOWELS.get(part)
        if part == "y" and not onset and index + 1 < len(parts):
            vowel = None
        following = parts[index + 1] if index + 1 < len(parts) else ""
        if vowel:
            vowel = _GLIDES[onset].get(vowel, vowel) if onset in _GLIDES else vowel
            syllables.append(Syllable(_ONSETS.get(onset, "ㅇ"), vowel, ""))
            onset = ""
            continue
        if onset:
            syllables.append(Syllable(_ONSETS[onset], "ㅡ", ""))
        if part in _CODAS and following not in _VOWELS and syllables and not syllables[-1].coda and not onset:
            syllables[-1].coda, onset = _CODAS[part], ""
        else:
            onset = part
    if onset:
        syllables.append(Syllable(_ONSETS[onset], "ㅣ" if onset in ("ch", "sh") else "ㅡ", ""))
    return join(syllables)
