"""English readings: lexicon, inflection, acronyms, weak forms, heteronyms, unknown words."""

import pytest

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.en import EnglishG2P
from cosylite.text.g2p.en_lexicon import Lexicon
from cosylite.text.g2p.en_spelling import SpellingModel
from cosylite.text.g2p.packed import PackedLines
from cosylite.text.normalise.en import normalise
from cosylite.text.symbols import unknown_symbols


@pytest.fixture(scope="module")
def english() -> EnglishG2P:
    return EnglishG2P()


def spoken(english: EnglishG2P, text: str) -> str:
    """Symbols of the text, one space between words, punctuation behind them."""
    return " ".join(word.symbols + word.after for word in english.words(normalise(AlignedText.of(text))))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Hello, world.", "həlˈO, wˈɜɹld."),
        ("The apple is on the table.", "ði ˈæpᵊl ɪz ˌɔn ðə tˈAbᵊl."),
        ("I go to eat, then to town.", "ˌI ɡˌO tʊ ˈit, ðˈɛn tə tˈWn."),
        ("He ate a pear and an egg.", "hi ˈAt ɐ pˈɛɹ ænd ɐn ˈɛɡ."),
        ("Yes, I can.", "jˈɛs, ˌI kˈæn."),
        ("Wait... what?!", "wˈAt… wˌʌt?"),
        ("It (the cat) sat — here.", "ɪt, ðə kˈæt, sˈæt— hˈɪɹ."),
    ],
)
def test_sentences(english: EnglishG2P, text: str, want: str) -> None:
    assert spoken(english, text) == want


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("googled", "ɡˈuɡᵊld"),
        ("chatbots", "ʧˈætbˌɑts"),
        ("APIs", "ˌApˌiˈIz"),
        ("NASA's", "nˈæsəz"),
        ("GPU", "ʤˌipˌijˈu"),
        ("ChatGPT", "ʧˈætʤˌipˌitˈi"),
        ("OpenAI", "ˈOpᵊnˌAˈI"),
        ("Wi-Fi", "wˈIfˌI"),
        ("iOS", "ˌIˌOˈɛs"),
        ("café", "kæfˈA"),
        ("PCs", "pˌisˈiz"),
        ("mc", "ɛmsˈi"),
        ("ChatGPT's", "ʧˈætʤˌipˌitˈiz"),
        ("Beijing’s", "bˌAʤˈɪŋz"),
    ],
)
def test_words(english: EnglishG2P, word: str, want: str) -> None:
    assert spoken(english, word) == want


HETERONYMS = """
She has read the whole series.|read|ɹˈɛd
He read the letter aloud.|read|ɹˈɛd
They read the news last night.|read|ɹˈɛd
Children learn to read early.|read|ɹˈid
The show was broadcast live.|live|lˈIv
Where do you live?|live|lˈɪv
My sister lives alone.|lives|lˈɪvz
They saved many lives.|lives|lˈIvz
Old paint may contain lead.|lead|lˈɛd
He took the lead in the race.|lead|lˈid
There is a tear in my shirt.|tear|tˈɛɹ
She burst into tears.|tears|tˈɪɹz
You need to wind up the toy.|wind|wˈInd
Strong winds hit the coast.|winds|wˈɪndz
He wound the rope around the tree.|wound|wˈWnd
The nurse cleaned the wound.|wound|wˈund
Please record the meeting.|record|ɹəkˈɔɹd
I bought an old record.|record|ɹˈɛkəɹd
The shops close at six.|close|klˈOz
They are close friends.|close|klˈOs
Make good use of your time.|use|jˈus
Many people use phones.|use|jˈuz
He used to smoke.|used|jˈust
I used a knife.|used|jˈuzd
Nobody will object to the plan.|object|əbʤˈɛkt
A strange object appeared.|object|ˈɑbʤəkt
I would like to present our results.|present|pɹəzˈɛnt
He opened his birthday present.|present|pɹˈɛzᵊnt
This video has great content.|content|kˈɑntɛnt
She felt content.|content|kəntˈɛnt
The actors took a bow.|bow|bˈW
He shot an arrow with his bow.|bow|bˈO
She plays bass in a band.|bass|bˈAs
We ate grilled bass for dinner.|bass|bˈæs
They had a row about money.|row|ɹˈW
Sit in the front row.|row|ɹˈO
The sow had ten piglets.|sow|sˈW
She dove off the cliff.|dove|dˈOv
A white dove flew over us.|dove|dˈʌv
Soldiers who desert are punished.|desert|dəzˈɜɹt
The refuse was collected on Monday.|refuse|ɹˈɛfjˌus
I refuse to go.|refuse|ɹəfjˈuz
Fresh produce is healthy.|produce|pɹˈOdˌus
There were minute differences.|minute|mInˈut
Polish your shoes.|Polish|pˈɑlɪʃ
Polish food is tasty.|Polish|pˈOlɪʃ
The invalid was in bed for years.|invalid|ˈɪnvəlɪd
You need a permit to park here.|permit|pˈɜɹmɪt
The rules do not permit it.|permit|pəɹmˈɪt
Metals contract when cold.|contract|kəntɹˈækt
The two reports conflict.|conflict|kənflˈɪkt
She wants to perfect her English.|perfect|pəɹfˈɛkt
They sleep in separate rooms.|separate|sˈɛpəɹət
Separate the eggs.|Separate|sˈɛpəɹˌAt
Give me an estimate.|estimate|ˈɛstəmət
I will graduate in June.|graduate|ɡɹˈæʤʊˌAt
The museum will house the art.|house|hˈWz
Drug abuse is a problem.|abuse|əbjˈus
Teenagers often rebel against their parents.|rebel|ɹəbˈɛl
I suspect he is lying.|suspect|səspˈɛkt
There was an increase in sales.|increase|ˈɪnkɹˌis
Prices increase every year.|increase|ɪnkɹˈis
We export oil.|export|ɪkspˈɔɹt
They protest against the war.|protest|pɹətˈɛst
She made a deliberate choice.|deliberate|dəlˈɪbəɹət
They advocate reform.|advocate|ˈædvəkˌAt
He sent his resume to the company.|resume|ɹˈɛzəmˌA
The law permits it.|permits|pəɹmˈɪts
"""


@pytest.mark.parametrize("case", HETERONYMS.strip().split("\n"))
def test_heteronyms(english: EnglishG2P, case: str) -> None:
    text, word, want = case.split("|")
    assert [found.symbols for found in english.words(AlignedText.of(text)) if found.text == word] == [want]


def test_positions_are_those_of_the_typed_text(english: EnglishG2P) -> None:
    text = "It costs $5.50, OK?"
    words = english.words(normalise(AlignedText.of(text)))
    assert [text[word.start : word.end] for word in words] == ["It", "costs", *["$5.50"] * 5, "OK"]
    assert words[-1].after == "?" and words[-2].after == ","


def test_text_without_words(english: EnglishG2P) -> None:
    assert english.words(AlignedText.of("")) == []
    assert english.words(AlignedText.of(" …! ")) == []


def test_capitals_are_read_as_words_when_all_is_in_capitals(english: EnglishG2P) -> None:
    assert spoken(english, "STOP THE BIG RED CAR") == spoken(english, "stop the big red car")


def test_lexicon_is_searched_to_its_ends() -> None:
    lexicon = Lexicon()
    lines = PackedLines("en_lexicon.xz").text().strip().split("\n")
    for line in (lines[0], lines[1], lines[len(lines) // 2], lines[-2], lines[-1]):
        key, phones = line.split("\t")[:2]
        entry = lexicon.exact(key)
        assert entry is not None and entry.phones == phones
    assert lexicon.exact("") is None and lexicon.exact("zzzzzz") is None and lexicon.exact("\t") is None


def test_unknown_words_have_one_stress_and_known_symbols() -> None:
    model = SpellingModel()
    for word in ("zorblaxian", "quuxify", "Škoda", "bltzkrg", "aaaaaaaaaaaa"):
        phones = model.read(word)
        assert phones.count("ˈ") == 1 and not unknown_symbols(phones)
    assert model.read("blorking") == "blˈɔɹkɪŋ"
    assert model.read("日本") == ""


def test_long_strings_are_read_in_little_time(english: EnglishG2P) -> None:
    assert english.words(normalise(AlignedText.of("a" * 5000 + " " + "A." * 3000 + "9" * 5000)))
