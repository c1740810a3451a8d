"""Readings of characters that depend on the words around them, from our own list of contexts."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

_TARGET = re.compile(r"\((?!\?)(.)\)")
_TRADITIONAL = (
    "長發銀樂還會計調著種為爲樹書學數傳記彈轉彎應該覺參觀幹乾淨處將鋪強捨倉庫個們對說話見開關門問題頭髮藥"
    "漲鑽載帶戰稱職幾間號結實係繫興奮緊縫論語與廠廣場園國圖圓團壓聲賣買車輛輪軟農醫養飯館魚鳥點黨齊齒龍東"
    "馬鐵錢錯鐘電請誰課談認識讓變賽趕過進運達遠適選遲邊鄉兒內兩冊劃劇劉劍勝勞動務區單卻雙歲嗎喚嘆嘗嚴壞壯"
    "夢夠夥奪婦媽孫寧寫寶審導屆島師幣幫廳彙徑從復態愛慶憂懷戲戶擊擔據擇擬擴攝敵斷於時暈暫極業榮構樣橋機權"
    "歡歷歸殺氣決況淚淺準溫滿漢澤濟濕灣灑災煙熱燈爐爭爺牆獎獨獸獻現產畢畫異療盡監盤眾確禮禍稅積穩窮競筆節"
    "範築簡糧紀約紅級紙紛終組細絕給絡統經綠維網線緣練緒縣總績織繪繼續罰羅習聖聞聯聰聽腦腳膽臉臨舊艱藝蘇虛"
    "蟲補裝裡製複視親訂討訓託訪設許訴診試詩詳誠誤諸諾講謝證譯議譽護讀負財貢貧貨責費貼貴貿資賞質賴購贈趙跡"
    "踐軍軸較輕輩輸轟辦辭連週遊遺鄰釋針鋼錄鍵鎮鏡閃閉閒閱陣陰陳陽隊階際隨險雖雜難雲靈靜頁頂項順須預領頻顏"
    "願類顧風飛飲飾餘饒駐駕驗驚體髒鬆鬥鬧鮮麗麥黃"
)
_SIMPLIFIED = (
    "长发银乐还会计调着种为为树书学数传记弹转弯应该觉参观干干净处将铺强舍仓库个们对说话见开关门问题头发药"
    "涨钻载带战称职几间号结实系系兴奋紧缝论语与厂广场园国图圆团压声卖买车辆轮软农医养饭馆鱼鸟点党齐齿龙东"
    "马铁钱错钟电请谁课谈认识让变赛赶过进运达远适选迟边乡儿内两册划剧刘剑胜劳动务区单却双岁吗唤叹尝严坏壮"
    "梦够伙夺妇妈孙宁写宝审导届岛师币帮厅汇径从复态爱庆忧怀戏户击担据择拟扩摄敌断于时晕暂极业荣构样桥机权"
    "欢历归杀气决况泪浅准温满汉泽济湿湾洒灾烟热灯炉争爷墙奖独兽献现产毕画异疗尽监盘众确礼祸税积稳穷竞笔节"
    "范筑简粮纪约红级纸纷终组细绝给络统经绿维网线缘练绪县总绩织绘继续罚罗习圣闻联聪听脑脚胆脸临旧艰艺苏虚"
    "虫补装里制复视亲订讨训托访设许诉诊试诗详诚误诸诺讲谢证译议誉护读负财贡贫货责费贴贵贸资赏质赖购赠赵迹"
    "践军轴较轻辈输轰办辞连周游遗邻释针钢录键镇镜闪闭闲阅阵阴陈阳队阶际随险虽杂难云灵静页顶项顺须预领频颜"
    "愿类顾风飞饮饰余饶驻驾验惊体脏松斗闹鲜丽麦黄"
)


@cache
def simplifier() -> dict[int, int]:
    """Table for `str.translate`: common traditional characters to simplified ones, so that one set of rules serves."""
    return str.maketrans(_TRADITIONAL, _SIMPLIFIED)


@cache
def _contexts() -> dict[str, tuple[tuple[str, str], ...]]:
    """Per character: contexts and the reading in them, in the order of the file."""
    text = files("cosylite.text").joinpath("data/zh_polyphones.txt").read_text(encoding="utf-8")
    rules: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        pinyin, *contexts = line.split() if line[:1] != "#" else ("",)
        for context in contexts:
            target = _TARGET.search(context)
            if target:
                rules.setdefault(target[1], []).append((context, pinyin))
    return {character: tuple(found) for character, found in rules.items()}


@cache
def _rules(character: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The rules of one character, compiled when the character first appears."""
    return tuple((re.compile(context), pinyin) for context, pinyin in _contexts()[character])


def apply_polyphones(run: str, syllables: Sequence[str]) -> list[str]:
    """Syllables of a Han run with our readings in place of the dictionary's where a context of the list fits."""
    result = list(syllables)
    for character in set(run) & _contexts().keys():
        for context, pinyin in _rules(character):
            for match in context.finditer(run):
                result[match.start(1)] = pinyin
    return result
