"""Japanese written forms: what is heard after normalisation and reading, and that nothing loses its place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ja import JapaneseG2P
from cosylite.text.normalise.ja import normalise

HEARD = """
2023年12月31日の23:59:59|ニセンニジューサンネンジューニガツサンジューイチニチノニジューサンジゴジューキューフンゴジューキュービョー
西暦794年に都が移った。|セーレキナナヒャクキュージューヨネンニミヤコガウツッタ
明治33年5月6日|メージサンジューサンネンゴガツムイカ
2024/10/01|ニセンニジューヨネンジューガツツイタチ
2025-01-15に更新|ニセンニジューゴネンイチガツジューゴニチニコーシン
12/25(月)の予定|ジューニガツニジューゴニチゲツヨーノヨテー
17:00〜18:30|ジューシチジカラジューハチジサンジュップン
AM10:00開店|ゴゼンジュージカイテン
9amに|ゴゼンクジニ
0時を過ぎた|レージヲスギタ
午前9時〜|ゴゼンクジカラ
6時6分|ロクジロップン
4月4日4時4分|シガツヨッカヨジヨンプン
円周率は3.14159です|エンシューリツワサンテンイチヨンイチゴーキューデス
摂氏36.5℃|セッシサンジューロクテンゴド
気温は-12.5度|キオンワマイナスジューニーテンゴド
2/3が賛成|サンブンノニガサンセー
½カップ|ニブンノイチカップ
3㎏の米|サンキログラムノコメ
1.5Lの水|イッテンゴリットルノミズ
5GBのメモリ|ゴギガバイトノメモリ
時速60km|ジソクロクジュッキロメートル
120km/hで|ジソクヒャクニジュッキロメートルデ
風速15m/s|フーソクジューゴメートル
100m走|ヒャクメートルソー
面積は50㎡|メンセキワゴジューヘーホーメートル
¥1,980です|センキューヒャクハチジューエンデス
$5.50払う|ゴドルゴジュッセントハラウ
€20.50|ニジューユーロゴジュッセント
1万2千円|イチマンニセンエン
3億5000万円|サンオクゴセンマンエン
税込1,100円|ゼーコミセンヒャクエン
20%オフ|ニジュッパーセントオフ
0.01%|レーテンゼロイチパーセント
5%〜8%増|ゴパーセントカラハチパーセントゾー
5〜6人|ゴカラロクニン
10-15分|ジューカラジューゴフン
月〜金|ゲツカラキン
1-0で勝利|イチタイゼロデショーリ
スコアは3:2|スコアワサンタイニ
第2位|ダイニイ
1番目|イチバンメ
090-9876-5432|ゼロキューゼロノキューハチナナロクノゴーヨンサンニー
0120-123-456|ゼロイチニーゼロノイチニーサンノヨンゴーロク
110番|ヒャクトーバン
〒150-0002|ユービンバンゴーイチゴーゼロノゼロゼロゼロニー
info@test.co.jp|インフォアットマークテストドットシーオードットジェーピー
https://www.example.com/newsを参照|ダブリューダブリューダブリュードットイグザンプルドットコムスラッシュニュースヲサンショー
(株)山田商事|カブシキガイシャヤマダショージ
No.1|ナンバーイチ
Q&A|キューアンドエー
3+5=8|サンタスゴイコールハチ
7-3=4|ナナヒクサンイコールヨン
10×10=100|ジューカケルジューイコールヒャク
8÷2=4|ハチワルニイコールヨン
Ⅲ章|サンショー
NHKニュース|エヌエイチケーニュース
CO2の排出|シーオーツーノハイシュツ
4K映像|ヨンケーエーゾー
Tシャツ|ティーシャツ
😀楽しい🎉|タノシイ
007号室|ゼロゼロナナゴーシツ
2.5倍|ニーテンゴバイ
10本と1本と3本|ジュッポントイッポントサンボン
1,234,567人|ヒャクニジューサンマンヨンセンゴヒャクロクジューシチニン
3ヶ月|サンカゲツ
2泊3日|ニハクミッカ
24時間365日|ニジューヨジカンサンビャクロクジューゴニチ
50音|ゴジューオン
""".strip().splitlines()


@pytest.fixture(scope="module")
def reader() -> JapaneseG2P:
    return JapaneseG2P()


@pytest.mark.parametrize("case", HEARD)
def test_written_form_is_heard_right(case: str, reader: JapaneseG2P) -> None:
    written, heard = case.split("|")
    assert "".join(word.reading for word in reader.words(normalise(AlignedText.of(written)))) == heard


def test_words_point_to_what_was_typed(reader: JapaneseG2P) -> None:
    text = "昨日、¥1,980の本を10〜20分で読んだ。"
    words = reader.words(normalise(AlignedText.of(text)))
    typed = {word.reading: text[word.start : word.end] for word in words}
    assert typed["キノー"] == "昨日"
    assert typed["ハチジューエン"] == "¥1,980"
    assert typed["ヨンダ"] == "読んだ"
    assert [word.start for word in words] == sorted(word.start for word in words)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_keeps_its_alignment(text: str) -> None:
    normalised = normalise(AlignedText.of(text))
    assert len(normalised.text) == len(normalised.starts) == len(normalised.ends)
    assert all(0 <= a < b <= len(text) for a, b in zip(normalised.starts, normalised.ends, strict=True))
