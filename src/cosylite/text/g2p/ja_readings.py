"""Readings of Japanese words that depend on the words around them, where the dictionary keeps to one.

Each rule names what must stand directly before, directly after, or anywhere in the text; the first rule that holds
for a word replaces it by its kana.
"""

import re
from collections import defaultdict
from typing import NamedTuple

from cosylite.text.aligned import AlignedText

_REACH = 24
"""Characters before a word that a rule may look at."""


class Context(NamedTuple):
    """`word` is read `kana` where the regular expressions hold."""

    word: str
    kana: str
    before: str = ""
    """Must match up to the word."""
    after: str = ""
    """Must match from the end of the word."""
    near: str = ""
    """Must be found somewhere in the text."""


_FOOD = (
    "カレー|スープ|料理|味|食べ|唐辛子|キムチ|ソース|ラーメン|麻婆|鍋|わさび|ワサビ"
    "|からし|塩|胡椒|スパイス|タレ|味噌|酒|せんべい|お菓子|スナック"
    "|麺|四川|激辛|舌|食べ物|うどん|チキン|鶏|肉|魚|豆腐|ピザ|パスタ|飯|ご飯|食事|甘"
)
_VESSELS = (
    "箱|瓶|びん|缶|ペットボトル|皿|グラス|コップ|財布|容器|袋|引き出し|部屋|弁当"
    "|バケツ|ボトル|カップ|器|席|状態|冷蔵庫|タンク|ポケット|鞄|かばん|棚|籠|かご|ケース"
)
_OPENABLE = (
    "ドア|扉|戸|窓|店|穴|口|蓋|ふた|門|目|鍵|幕|箱|間|シャッター|カーテン|銀行|図書館"
    "|郵便局|蛇口|瞼|まぶた|引き出し|ファイル|金庫|席|部屋"
)
_CROWDED = "電車|バス|道|店|レストラン|店内|車内|道路|会場|館内|ホテル|プール|映画館|カフェ"
_FEELINGS = (
    "疑問|希望|不安|思い|夢|恨み|感情|期待|興味|関心|印象|違和感|好意|殺意|恐怖|憧れ"
    "|理想|疑い|反感|野心|念|不満|懸念|危機感|大志|幻想|気持ち|敬意|親近感"
)
_MINUTES = (
    "(?:待|前|後|間|休|ほど|くらい|ぐらい|程度|で(?:着|行|終|でき|出来|歩|作|準備|食"
    "|来|戻|分)|かか|掛か|遅|経|以内|置き|おき|ごと|毎|以上|以下|過ぎ|すぎ|たつ|たっ"
    "|歩"
    "|走|早|しか|だけ|まで|から|に(?:出発|着|集合|始|終|起|会|来|なっ|なり|なる)|発"
    "|着|残|煮|焼|茹|ゆで|温|蒸|寝|話|見|考え|練習|運動|もあれば)"
)
_SAKE = "タバコ|煙草|たばこ|酒|お酒|仕事|会社|学校|喧嘩|けんか|いたずら|冗談|部活|バイト|習慣|癖|無駄遣い|飲酒|喫煙"
_GOLD = (
    "の(?:指輪|ネックレス|延べ棒|斧|卵|時計|像|首飾|メダル|価格|相場|アクセサリー|冠"
    "|王冠|糸|腕輪|鎖|ボタン|玉|塊|インゴット|盃|杯|鈴|装飾|仏像|くさり|ピアス|仮面"
    "|しゃちほこ|鯱)"
    "|を(?:掘|採掘|含|溶か)|と銀|、銀|や銀|の含有"
)

CONTEXTS: tuple[Context, ...] = (
    Context(
        "今日",
        "コンニチ",
        after="の(?:社会|日本|世界|経済|状況|我々|国際|政治|科学|時代|企業|教育|地球|課題|繁栄"
        "|姿|人類|発展|わが国|我が国|日本語|情報|技術|医学|医療|文明|文化|に)"
        "|的|では(?!な|あり)|に至|に(?:おい|おけ)|まで(?:続|伝|受け継)|は[!！]|もなお|に伝",
    ),
    Context("行っ", "おこなっ", before="(?<![道路先上中前後])を$"),
    Context(
        "行った",
        "おこなった",
        before="が$",
        after="(?:調査|研究|実験|演説|発表|会見|試験|検査|手術|工事|攻撃|講演|講義|試合|儀式"
        "|政策|改革|分析|報告|発言|取引)",
    ),
    Context("辛", "から", after="[いくかけ]", near=_FOOD),
    Context(
        "人気",
        "ヒトケ",
        after="[のが](?:ない|無い|なく|なかった)(?:道|路|場所|公園|夜|町|街|廊下|ところ|所|山"
        "|森|通り|部屋|建物|海|浜|駅|校舎|家)?",
        before="(?<!大)$",
        near="道|路|夜|公園|森|場所|所|廊下|街|海|校舎|建物|駅",
    ),
    Context(
        "生",
        "なま",
        after="(?:で(?:食|飲|かじ|頂|いただ)|の(?:まま|状態|魚|肉|野菜|声|音|演奏|卵|牛|豚|鶏"
        "|貝|牡蠣|ビール|果物)|もの|ごみ|ゴミ|焼け|放送|ぬる|温)",
    ),
    Context("明後日", "アサッテ"),
    Context("明々後日", "シアサッテ"),
    Context(
        "市場",
        "いちば",
        before="(?:魚|青物|朝|魚河岸|野菜|骨董|闇|築地|豊洲|近江町|の|^|、)$",
        after="(?:に(?:行|買|出か|寄|並)|へ|で(?:買|売|働|魚|野菜|果物)|の(?:魚|野菜|おばさん"
        "|朝|店|人|おじさん)|まで|$|を(?:歩|見て回|散))",
    ),
    Context("色紙", "シキシ", after="に(?:サイン|寄せ書|書|メッセージ|名前)|を(?:贈|飾|もら|渡)"),
    Context("色紙", "いろがみ", after="[をで](?:折|切|鶴|作|貼)"),
    Context(
        "最中",
        "モナカ",
        after="(?:[をがもはとや、]|の皮|アイス)?(?:食べ|おいし|美味し|好き|買|くだ|お土産|甘|頂"
        "|いただ|お茶|皮|アイス|饅頭|羊羹)",
    ),
    Context("最中", "モナカ", before="(?:和菓子|アイス|お茶|小豆|名物|餡)[のとや、]?$"),
    Context(
        "寒気",
        "カンキ",
        after="団|の(?:影響|流入|南下|中心)|が(?:流れ|南下|入|強|居座|流入|やって)|の?移流|に(?:覆|包)",
    ),
    Context(
        "仮名",
        "カメイ",
        after="を(?:使|用い|名乗)|で(?:報|紹介|登場|呼)|の(?:人物|男|女|少年|少女)|[)）]|に(?:し|変)",
        before="(?<!平)(?<!片)(?<!送り)$",
    ),
    Context(
        "表",
        "ヒョー",
        before="(?:^|[のにはがを、。るた]|次|下|上|左|右|この|以下の)$",
        after="を(?:作|見|参照|書|埋|示|使|完成|ご覧|読|もと)|の(?:通り|とおり|中|よう|数字|値"
        "|上|下|左|右|見方|列|行|縦|横)|に(?:まとめ|示|ある|記入|書|し)|[1-9]|から(?:分か"
        "|わか|読)|計算",
    ),
    Context(
        "額",
        "ガク",
        before="(?:^|[、。のなたい])$",
        after="を(?:払|支払|受け|請求|決め|増|減|計算|超|もら|提示)|が(?:大き|高|多|少な|違)"
        "|に(?:達|応|入れ|なる|上)|は(?:大|百|千|万|[0-9])",
    ),
    Context("角", "ツノ", before="(?:鹿|牛|羊|サイ|ヤギ|山羊|鬼|シカ|トナカイ|獣|カブトムシ|水牛|虫)の$"),
    Context("角", "ツノ", after="[がを](?:生え|生や|出)|笛"),
    Context(
        "角",
        "カド",
        before="(?<![一-龥])$",
        after="を(?:曲が|右|左|まが)|の(?:店|家|建物|交差点|コンビニ|パン屋|喫茶|花屋|ところ|所"
        "|本屋|銀行)|に(?:ある|立|あり|あっ|ぶつ)|で(?:曲|待|会|右|左|止)|から(?:二|三"
        "|[0-9])|が(?:立つ|取れ)",
    ),
    Context("角", "カク", before="(?:形|内|外|対頂|直|鋭|鈍)の$"),
    Context(
        "十分",
        "10分",
        before="(?:[0-9一二三四五六七八九十]時|後|あと|約|およそ|たった|毎日|毎朝|わずか|ほんの"
        "|徒歩|片道|歩いて|車で)$",
    ),
    Context("十分", "10分", after=_MINUTES),
    Context("十分", "ジューブン"),
    Context("金", "キン", before="(?<![おの料資現代税賞貯純募借年大黄])(?<![一-龥])$", after=_GOLD),
    Context(
        "空",
        "から",
        before=f"(?:{_VESSELS}|中|中身|お腹|胃)[がはもを]?$",
        after="だ|です|に(?:な|す|し)|っぽ|のまま|で|。|$",
    ),
    Context("空", "から", after=f"の(?:{_VESSELS})|っぽ|箱|瓶|缶|振り|回り|威張|元気"),
    Context("空い", "すい", before="(?:お?腹|おなか|小腹)[がもは]?$"),
    Context("空い", "すい", before=f"(?:{_CROWDED})[がはも]$"),
    Context("空いて", "すいて", after="(?:い|る)", near="道路|電車|車内|店内|バス"),
    *(
        Context(
            "開" + end,
            "あ" + end,
            before=f"(?:{_OPENABLE})[がもは](?:勝手に|自動で|自然に|少し|急に|突然|バタンと|やっと|まだ)?$",
        )
        for end in ("い", "く", "か", "き", "け")
    ),
    Context("止め", "やめ", before=f"(?:{_SAKE})[をは]?$"),
    Context("止ん", "やん", before="(?:雨|風|雪|音|嵐|声|吹雪)[がはも](?:やっと|すぐに|ようやく)?$"),
    Context("止む", "やむ", before="(?:雨|風|雪|音|嵐|声|吹雪)[がはも](?:やっと|すぐに|ようやく)?$"),
    Context("梅雨前線", "バイウゼンセン"),
    Context("紅葉", "モミジ", after="の(?:葉|よう|天ぷら|手)|狩り|饅頭|まんじゅう|おろし"),
    Context("風車", "フーシャ", near="オランダ|発電|小屋|巨大|大き|丘|粉|村"),
    Context("主", "シュ", before="(?:^|[、。])$", after="の(?:言葉|祈り|恵み|御名|愛)|よ|イエス"),
    Context("この間", "このあいだ", after="(?:[はもの、行会見買話聞言友彼]|まで|$)"),
    Context("間", "ま", before="(?:^|[、。のは])$", after="が(?:悪|もた|持た|空)|を(?:置|おい|取って話)"),
    Context(
        "強い",
        "しい",
        before="(?:負担|犠牲|苦戦|沈黙|努力|我慢|労働|協力|服従|忍耐|退職|酒|出費|無理|緊張|生活|選択)[をがも]$",
        after="[るたてらな]",
    ),
    Context("町工場", "マチコーバ"),
    Context(
        "一行",
        "イチギョー",
        after="目|ずつ|で|だけ|を(?:読|書|飛ば|消)|の(?:文|詩|コード|メール)|に(?:書|収|まと)|空け|書|も(?:書|読)",
    ),
    Context(
        "臭い",
        "におい",
        after="[がをもには](?!く)|の(?:元|原因|する|強)|消し",
        before="(?<!生)(?<!面倒)(?<!胡散)(?<!くさ)$",
    ),
    Context("臭い", "におい", before="(?:いい|良い|嫌な|変な|へんな|焦げた|甘い|ひどい|強い|独特な)$"),
    Context("汚れ", "よごれ"),
    Context("怒り", "いかり", after="[がをにのはでも、。]|$|狂|心"),
    *(
        Context("抱" + end, "いだ" + end, before=f"(?:{_FEELINGS})[をもはが](?:強く|深く|常に)?$")
        for end in "くいかきけこ"
    ),
    *(Context("抱" + end, "だ" + end) for end in "くいかきけこ"),
    Context(
        "側",
        "ソバ",
        before="(?:^|[、。]|[私君僕彼女母父子あなたす][のぐ]|すぐ)$",
        after="に(?:い|座|立|寄|置|つい|来|寝|居|お)|で|を(?:離|通)|から離",
    ),
    Context("重複", "チョーフク"),
    Context("床", "とこ", before="(?<![一-龥])$", after="に(?:就|つ[いくけ]|伏|入)|を(?:敷|上げ)|につ"),
    Context("夜", "ヨ", before="(?<![一-龥])$", after="[がも](?:明|更|ふけ)|を(?:明か|徹)|が明"),
    Context("何色", "ナニイロ", after="[がのにをでとはも]|です|だ|$"),
    Context("何語", "ナニゴ"),
    Context("何県", "ナニケン"),
    Context(
        "何人",
        "ナニジン",
        after="(?:なの|で(?:す|しょう)か)?[?？]|なのか|か(?:当て|分から|わから)",
        before="(?:彼|彼女|あの人|あなた|その人|先生)は$",
    ),
    Context("上手", "カミテ", before="(?:川の|舞台の?|客席から見て)$"),
    Context("上手", "カミテ", after="から(?:登場|現|出)|に(?:退場|はけ)|と下手"),
    Context("上手", "ウワテ", before="(?:一枚|役者が一枚|彼の方が一枚)$"),
    Context("上手", "ウワテ", after="投げ|を行|をとら|を取"),
    Context("下手", "シモテ", before="(?:川の|舞台の?|上手と)$"),
    Context("下手", "シモテ", after="から(?:登場|現|出)|に(?:退場|はけ)"),
    Context("下手", "シタテ", after="に出|投げ"),
    Context(
        "方", "カタ", before="(?:その|あの|この|どの)$", after="[はをにともへで々](?!向|法)|の(?!向)|[!！?？。]|です|$"
    ),
    Context(
        "方",
        "カタ",
        before="(?:お客様|初めて|希望|一般|担当|年配|高齢|目上|外国|女性|男性|若い|多く|お持ち"
        "|お越し|ご覧|ご利用|ご希望|お探し|お困り|関係者|親切な|立派な|偉い|素敵な)の?$",
        after="[はがにへもをでと々](?!向|法)|の(?!向)|、|$",
    ),
    Context("方々", "カタガタ"),
    *(
        Context(
            kanji + "分",
            digit + "分",
            before="(?<![一-龥])(?<![0-9])$|[時後約]$",
            after="(?!の[一二三四五六七八九十]|[一-龥]分|咲|袖|目|通り|割|身|法|類|別|野|担|解|布"
            "|子|量|析|音符|け|か|厘|岐|配|裂|離|刻|散|化)",
        )
        for kanji, digit in zip("一二三四五六七八九", "123456789", strict=True)
    ),
    Context("魚市場", "ウオイチバ"),
    Context("青物市場", "アオモノイチバ"),
    Context("清水寺", "キヨミズデラ"),
    Context("初日の出", "ハツヒノデ"),
    Context("何曜日", "ナンヨービ"),
    Context("数日", "スージツ", before="(?<![0-9一-龥])$"),
    Context("二、三日", "ニサンニチ"),
    Context("二、三人", "ニサンニン"),
    Context("二、三年", "ニサンネン"),
    Context("二、三回", "ニサンカイ"),
    Context("四、五人", "シゴニン"),
    Context("今日", "コンニチ", before="^$", after="は、?(?:皆|みな|みんな|お?元気|よろしく|はじめまして|初めまして)"),
    Context("音", "オン", before="(?:50|五十)$"),
    Context("国立", "クニタチ", after="駅|市(?![立])"),
    Context("清水", "キヨミズ", after="寺|の舞台|焼|坂"),
    Context("分別", "フンベツ", after="(?:が|の)?(?:ある|あり|ない|つ|盛)|臭|くさ|をわきまえ"),
    Context("分別", "ブンベツ", near="ゴミ|ごみ|資源|回収|収集|廃棄|リサイクル"),
    Context("末期", "マツゴ", after="の(?:水|言葉)"),
    Context("変化", "ヘンゲ", before="(?:妖怪|七)$"),
    Context("初日", "ハツヒ", after="の出"),
    Context("利益", "リヤク", before="[ご御]$"),
    Context("気質", "カタギ", before="(?:職人|昔|江戸っ子|商人)$"),
    Context("心中", "シンチュー", after="お?察|穏|複雑|を(?:察|明か|語|打ち明)|は"),
    Context(
        "大分",
        "ダイブ",
        before="(?:^|[、。はがもに])$",
        after="(?!県|市|駅|空港|大学|銀行|の|に行|へ|から来|トリニ|で)",
    ),
    Context(
        "被",
        "かぶ",
        before="(?:帽子|仮面|面|布団|埃|猫|ヘルメット|かつら|王冠|マスク|頭巾|笠|フード|冠)[をが](?:深く|かぶ)?$",
        after="[りるっれろら]",
    ),
    *(
        Context(
            "描" + end,
            "か" + end,
            before="(?:絵|イラスト|漫画|マンガ|図|似顔絵|線|円|丸|風景画|地図|グラフ|肖像画|落書き"
            "|ポスター)[をはが](?:上手に|よく|うまく|毎日)?$",
        )
        for end in "くいかきけこ"
    ),
    Context("走", "ソー", before="[mｍ]$|メートル$", after="[でのにをがは、。]|$|競"),
    Context("0時", "レージ", before="(?<![0-9])$"),
    Context(
        "下",
        "モト",
        before="(?:指導|監督|管理|法|名|条件|旗|方針|太陽|指揮|協力|支配|監視|合意|庇護|統治|前提|計画)の$",
        after="[にでの]",
    ),
    Context("外", "ホカ", before="(?:思い|殊の|殊|もって)の$"),
    Context("日向", "ヒナタ", after="ぼっこ|に(?:出|干|座)|で|と日陰"),
    Context("細々", "ほそぼそ", after="と(?:暮|続|生|営|商|した暮|やって)"),
    Context("足跡", "ソクセキ", after="を(?:残|たど|辿)", near="歴史|人生|偉人|功績|生涯|先人"),
    Context("直に", "じかに", after="(?:触|会|話|聞|手|肌|見|床|地面|座|置)"),
    Context(
        "経",
        "た",
        before="(?:時|時間|年|月日|日|分|歳月|か月|ヶ月|週間|しばらく|月)[がも](?:早く|あっという間に|だいぶ)?$",
        after="(?:つ|っ|ち|て[ばる]|と)(?!験|済)",
    ),
    Context("経", "た", before="(?:[年日月分]|時間|週間|しばらく)$", after="(?:つ|っ|ち|てば)"),
    Context(
        "注",
        "つ",
        before="(?:酒|お酒|ビール|お茶|茶|ワイン|ジュース)を(?:グラスに|コップに)?$",
        after="(?:ぐ|い[でだ]|ぎ|がれ)",
    ),
    Context("彼の", "カレノ"),
)
"""Rules in order of preference per word. Words that are longer are looked for first."""


class Readings:
    """Applies the context rules to a text."""

    def __init__(self) -> None:
        self._rules: dict[str, list[tuple[str, re.Pattern[str], re.Pattern[str], re.Pattern[str]]]] = defaultdict(list)
        for rule in CONTEXTS:
            before = re.compile(f"(?:{rule.before})" if not rule.before or rule.before.endswith("$") else rule.before)
            self._rules[rule.word].append((rule.kana, before, re.compile(rule.after), re.compile(rule.near)))
        words = sorted(self._rules, key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, words)))

    def apply(self, text: AlignedText) -> AlignedText:
        """`text` with words that a rule decides as kana (or as digits, for the dictionary to read)."""
        return text.sub(self._words, self._reading)

    def _reading(self, match: re.Match[str]) -> str | None:
        sentence, start, end = match.string, match.start(), match.end()
        left = sentence[max(0, start - _REACH) : start]
        for kana, before, after, near in self._rules[match.group()]:
            if before.search(left) and after.match(sentence, end) and near.search(sentence):
                return kana
        return None
