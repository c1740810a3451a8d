"""Chinese written forms in words: one case a line, the text and its reading."""

import unicodedata
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.zh import ChineseG2P
from cosylite.text.normalise.zh import normalise
from cosylite.text.normalise.zh_numbers import cardinal
from cosylite.text.symbols import unknown_symbols

CASES = """
我们公司成立于2010年3月，至今已有14年。|我们公司成立于二零一零年三月，至今已有十四年。
地址：中山路128号3单元502室|地址：中山路一百二十八号三单元五零二室
航班MU5137将于21:40起飞|航班MU五幺三七将于二十一点四十分起飞
K123次列车|K幺二三次列车
今年GDP增长5.2%|今年GDP增长百分之五点二
气温零下3度到5度|气温零下三度到五度
今天最高气温35℃，最低气温-2℃。|今天最高气温三十五摄氏度，最低气温零下二摄氏度。
买3斤苹果花了¥18.80|买三斤苹果花了十八点八零元
1美元≈7.2元|一美元约等于七点二元
总价€1,299.00|总价一千二百九十九点零零欧元
每公里0.6元|每公里零点六元
3/5的学生|五分之三的学生
第15页|第十五页
第1名、第2名|第一名、第二名
勇士队以112:98战胜湖人队|勇士队以一百一十二比九十八战胜湖人队
比分2-1|比分二比一
主队2:0领先|主队二比零领先
占1/10|占十分之一
6月1日~6月7日|六月一日到六月七日
下午2点到4点|下午两点到四点
2个半小时|两个半小时
20~30岁|二十到三十岁
1-2天|一到两天
2-3个小时|二到三个小时
周一至周五 9:00—18:00|周一至周五 九点到十八点
2.5万元|二点五万元
人口14亿|人口十四亿
温度是-15.5°C|温度是零下十五点五摄氏度
网址是www.qq.com|网址是www点qq点com
请访问https://github.com|请访问https冒号斜杠斜杠github点com
发到zhang_san@163.com|发到zhang下划线san艾特一六三点com
长5m、宽3m、高2m|长五米、宽三米、高两米
面积120平方米|面积一百二十平方米
90km/h|九十公里每小时
1.5L可乐|一点五升可乐
256GB|二百五十六GB
CPU 3.2GHz|CPU 三点二吉赫兹
血糖5.6mmol/L|血糖五点六毫摩尔每升
2×(3+4)=14|二乘(三加四)等于十四
x=5|x等于五
a²+b²=c²|a的平方加b的平方等于c的平方
10÷2=5|十除以二等于五
8-3=5|八减三等于五
6*7=42|六乘七等于四十二
√9=3|根号九等于三
π=3.14159|派等于三点一四一五九
y=2x+1|y等于二x加一
1:2:3|一比二比三
No.5|第五
2022级新生|二零二二级新生
2024届毕业生|二零二四届毕业生
5月20日14时30分|五月二十日十四时三十分
13:00整|十三点整
0.5%|百分之零点五
+8%|正百分之八
T3航站楼|T三航站楼
B12出口|B十二出口
波音747|波音七四七
歼20战机|歼二十战机
98号汽油|九十八号汽油
95后|九五后
7×24小时|七乘二十四小时
7*24小时|七乘二十四小时
100m短跑|一百米短跑
4×100米接力|四乘一百米接力
第23届冬奥会|第二十三届冬奥会
拿破仑·波拿巴|拿破仑·波拿巴
《1984》|《一九八四》
24节气|二十四节气
1949年10月1日下午3时|一九四九年十月一日下午三时
公元前221年|公元前二二一年
20世纪80年代|二十世纪八十年代
苹果5.5元/斤|苹果五点五元每斤
时速300km|时速三百公里
H2O|H二O
0-3岁|零到三岁
3-5%|百分之三到百分之五
¥1000~¥2000|一千到两千元
约500-600元|约五百到六百元
$1,000,000|一百万美元
1000000|一百万
007|零零七
订单号20240501001|订单号二零二四零五零一零零一
我的电话是 186-1234-5678。|我的电话是 幺八六幺二三四五六七八。
电话：(010)62345678|电话：零幺零六二三四五六七八
打120|打幺二零
拨打10086|拨打幺零零八六
9.9折|九点九折
打8折|打八折
3室2厅|三室两厅
5A级景区|五A级景区
4S店|四S店
10:05|十点零五分
23:59:59|二十三点五十九分五十九秒
2026-11-30 18:30|二零二六年十一月三十日 十八点三十分
2月29日|二月二十九日
双11|双十一
6·18|六一八
1,000|一千
-3|负三
3.14|三点一四
1.0|一点零
100万|一百万
3万5千|三万五千
2千米|两千米
2kg|两公斤
2公斤|两公斤
2元|两元
2角|两角
22个|二十二个
20岁|二十岁
2岁|两岁
2楼|二楼
2月|二月
2年级|二年级
2天|两天
第2天|第二天
2世纪|二世纪
2人|两人
2路车|二路车
2%|百分之二
2分之1|二分之一
1个、2个、3个|一个、两个、三个
我有2只猫，3条狗|我有两只猫，三条狗
２００８|两千零八
1.2.3|一点二点三
iPhone 15 Pro|iPhone 十五 Pro
Win10系统|Win十系统
USB3.0|USB三点零
Wi-Fi 6|Wi-Fi 六
90°C|九十摄氏度
6:30 AM|上午六点三十分
12:00 PM|中午十二点
50%~60%|百分之五十到百分之六十
50%-60%|百分之五十到百分之六十
1/4 杯|四分之一 杯
1 1/2 杯|一又二分之一 杯
500g/袋|五百克每袋
20元/小时|二十元每小时
→下一页|到下一页
你好😀😁！|你好！
👍🏽 很好|很好
(3)|(三)
3、4个|三、四个
1+1|一加一
A+级|A加级
C++语言|C加加语言
@所有人|艾特所有人
R&D|R和D
#1|第一
50Hz|五十赫兹
220V电压|二百二十伏电压
10A电流|十安电流
60W灯泡|六十瓦灯泡
5000mAh电池|五千毫安时电池
70dB|七十分贝
会议定在2024-12-25。|会议定在二零二四年十二月二十五日。
80后和00后|八零后和零零后
2020-2024年|二零二零到二零二四年
10年后|十年后
10月1日-7日放假|十月一日到七日放假
8点05分|八点零五分
比分是21:15|比分是二十一比十五
+86 138 0013 8000|加八六幺三八零零幺三八零零零
请拨打110报警|请拨打幺幺零报警
电话021-62345678转8001|电话零二幺六二三四五六七八转八零零幺
坐302路公交车|坐三零二路公交车
坐15路公交车|坐十五路公交车
验证码是837261|验证码是八三七二六一
车牌京A12345|车牌京A幺二三四五
¥100-200|一百到二百元
100USD|一百美元
$3.5M|三百五十万美元
50元/人|五十元每人
10元/kg|十元每公斤
½杯水|二分之一杯水
2又1/3|二又三分之一
100%|百分之百
-3.2%|负百分之三点二
5‰|千分之五
-5~3℃|零下五到三摄氏度
第1-3章|第一到三章
5km-10km|五公里到十公里
80km/h-120km/h|八十公里每小时到一百二十公里每小时
5G网络和4K电视|五G网络和四K电视
版本3.11.4|版本三点一一点四
3×10⁸|三乘十的八次方
1.5e10|一点五乘以十的十次方
第II章|第二章
第Ⅳ章|第四章
①打开②关闭|一打开二关闭
２０２４年|二零二四年
３：２|三比二
5'30"|五分三十秒
北纬39°54′|北纬三十九度五十四分
GPT-4很强|GPT四很强
1h30min|一小时三十分钟
血压120/80|血压一百二十、八十
2022/23赛季|二零二二到二三赛季
1990s的歌|一九九零年代的歌
11/30/2026|二零二六年十一月三十日
5★好评|五星好评
报告.pdf|报告点pdf
"""


def canonical(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_reading(case: str) -> None:
    text, expected = case.split("|")
    assert canonical(normalise(AlignedText.of(text)).text) == canonical(expected)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        *[("0", "零"), ("10", "十"), ("110", "一百一十"), ("1001", "一千零一"), ("22000", "两万两千")],
        *[("200000000", "两亿"), ("007", "零零七"), ("1,234.50", "一千二百三十四点五零")],
        ("1234567890123", "一万亿两千三百四十五亿六千七百八十九万零一百二十三"),
    ],
)
def test_cardinal(number: str, words: str) -> None:
    assert cardinal(number) == words


def test_words_point_at_what_was_typed() -> None:
    text = normalise(AlignedText.of("共¥25元", 3))
    assert text.text == "共二十五元"
    assert text.source(1, 5) == (4, 8)


_PIECES = st.sampled_from(
    [*"0123456789.,:：/-~%℃°年月日点个第$¥+×=²½③Ⅳ٣A恤vkm好，。😀@#(", "http://", "10月", "GPT-4", "1/2"]
)


@given(st.lists(st.one_of(_PIECES, st.characters()), max_size=30).map("".join))
@settings(deadline=None, max_examples=300)
def test_anything_becomes_known_symbols(text: str) -> None:
    written = normalise(AlignedText.of(text))
    digits = [c for c in written.text if c.isdigit() or (unicodedata.numeric(c, None) is not None and not _han(c))]
    assert not digits
    for word in _reader().words(written):
        assert not unknown_symbols(word.symbols + word.after)
        assert 0 <= word.start < word.end <= len(text)


@cache
def _reader() -> ChineseG2P:
    return ChineseG2P()


def _han(character: str) -> bool:
    return character in "〇" or "CJK" in unicodedata.name(character, "")


@pytest.mark.parametrize(
    "piece", ["1", "1-", "1/", "1.", "a", "A1", "a@", "I", "12:30", "$1", " ", "今天2024年10月1日，"]
)
def test_long_runs_take_linear_time(piece: str) -> None:
    normalise(AlignedText.of(piece * 3000))
