"""Which language Han characters without kana speak for: character sets, old forms, and a list of Japanese words."""

import re
from functools import cache
from importlib.resources import files

# Characters that Chinese prose needs and Japanese prose lacks, although both character sets hold them.
_CHINESE = frozenset(
    "你您妳她它们們吗嗎呢吧啊呀嘛哦喔噢哎唉嗯喂啦咱很么麼怎啥谁哪给让讓说說吃跑找做哥妈媽姐奶爷孩站跟拿掉聊够挺懂该猜歉脸搞扔嘴饿刚爱哈呵吵闹鬧啡咖厅廳块钱錢锅"
    "沒罢另倆俩仨甭喊"
)
# Forms that Japanese gave up for newer ones, and that traditional Chinese still uses.
_OLD_FORMS = frozenset(
    "亞惡壓圍爲醫壹飮隱營榮驛圓鹽艷應歐毆櫻奧溫穩假價畫會壞懷繪擴殼覺學嶽樂勸寬歡觀關陷歸氣龜僞戲犧舊據擧峽挾狹鄕曉區驅勳羣徑"
    "溪經繼莖螢輕鷄藝擊缺儉劍圈檢權獻縣險顯驗嚴廣鑛號國黑濟劑雜參慘棧蠶贊殘絲齒兒辭濕實寫釋壽從獸縱處敍燒稱證乘剩壤孃條淨疊讓釀"
    "囑觸寢愼盡圖粹醉穗隨髓數樞聲靜齊攝竊專戰淺潛纖踐錢禪雙壯搜插巢爭總聰莊裝騷增臟屬續墮體對帶滯臺擇單擔膽團彈斷遲癡晝蟲鑄廳"
    "徵聽敕遞鐵轉點傳黨盜當鬪獨讀屆繩貳惱腦霸廢賣麥發髮拔蠻祕拂佛倂竝變辨瓣辯寶豐每萬滿默譯藥與豫餘譽搖樣謠來賴亂覽兩獵"
    "壘禮勵靈齡戀爐勞樓錄灣澀滾啟說稅銳閱黃橫緣綠祿內吳娛產"
) - frozenset("假陷缺剩隨醉粹穗拂遞豫敕")
_WEAK_CHINESE = frozenset("是的在我他了也都就把被那又再和這什想去不")
_CHINESE_WORDS = re.compile("没有|没问|不是|不会|不能|不要|可以|我的|他的|一个|如果|但是|所以|早上|晚上|下午")
_JAPANESE = frozenset("々〆働込峠畑辻匂枠栃凧凪塀笹麿杢俣樫榊籾雫")


class _Kinds(dict[int, str]):
    """Kind of each character by code point, worked out once, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = _kind_of(chr(code))
        return kind


class HanJudge:
    """Evidence for the language of Han runs. Remembers the kind of every character it has met."""

    def __init__(self) -> None:
        self._kinds = _Kinds()

    def evidence(self, run: str) -> str | None:
        """`"zh"` or `"ja"` where the characters of a run decide it, else None."""
        kinds = run.translate(self._kinds)
        chinese, japanese = kinds.count("z"), kinds.count("j")
        if chinese != japanese:
            return "zh" if chinese > japanese else "ja"
        if len(_WEAK_CHINESE.intersection(run)) > 1 or _CHINESE_WORDS.search(run):
            return "zh"
        return None

    def hints_chinese(self, run: str) -> bool:
        """Whether a run without Japanese or traditional characters holds a common Chinese function character."""
        kinds = run.translate(self._kinds)
        if "z" in kinds:
            return True
        weak = "j" not in kinds and "w" not in kinds and not _WEAK_CHINESE.isdisjoint(run)
        return weak and not _has_japanese_word(run)

    def has_japanese_only(self, run: str) -> bool:
        """Whether a character of the run is used in Japanese alone."""
        return "j" in run.translate(self._kinds)

    def looks_japanese(self, run: str) -> bool:
        """Weak evidence: in the Japanese set but not in the simplified one, or a word of the Japanese list."""
        kinds = run.translate(self._kinds)
        return ("w" in kinds and "r" not in kinds) or _has_japanese_word(run)


def _kind_of(character: str) -> str:
    """z: Chinese only, j: Japanese only, w: Japanese or traditional, s: all share it, r: rare."""
    if character == "〇":
        return "s"
    if character in _JAPANESE:
        return "j"
    if character in _CHINESE or character in _OLD_FORMS:
        return "z"
    simplified, japanese, traditional = (_encodes(character, name) for name in ("gb2312", "shift_jis", "big5"))
    if not japanese:
        return "z" if simplified or traditional else "r"
    if simplified:
        return "s"
    return "w" if traditional else "j"


def _encodes(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


@cache
def _japanese_words() -> dict[str, tuple[str, ...]]:
    """The Japanese word list by first character."""
    text = files("cosylite.text").joinpath("data/ja_han_words.txt").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for line in text.splitlines():
        for word in line.split() if not line.startswith("#") else ():
            table.setdefault(word[0], []).append(word)
    return {first: tuple(words) for first, words in table.items()}


def _has_japanese_word(run: str) -> bool:
    words = _japanese_words()
    if run.endswith("禁止") and len(run) > 3:
        return True
    for i, character in enumerate(run):
        for word in words.get(character, ()):
            if run.startswith(word, i):
                return True
    return False
