"""English heteronyms: which of the readings of one spelling the context asks for."""

from collections.abc import Callable

from cosylite.text.g2p.en_clues import (
    ARCHERY,
    BASIS,
    CHOP,
    CLOSE_ADJ,
    FISH,
    JAPANESE,
    LIVE_THINGS,
    LIVE_VERBS,
    METAL,
    MUSIC,
    PAST,
    PRESENT,
    QUARREL,
    RIPPED,
    SHIP,
    SMALL,
    STAGE,
)
from cosylite.text.g2p.en_context import (
    ARTICLES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    HAVE,
    MODALS,
    OBJECTS,
    PREPOSITIONS,
    SINGULAR,
    SUBJECTS,
    Context,
    is_plural,
    part_of_speech,
    takes_object,
    word_set,
)

Reader = Callable[[Context], str]


def _read(c: Context) -> str:
    past, present = "ɹˈɛd", "ɹˈid"
    before, steps = c.before_adverbs()
    earlier = c.back(steps + 1)
    if before in HAVE or (
        before in BE | {"got", "get", "gets", "well", "widely", "i'd", "having", "being"} and before != "well"
    ):
        return past
    if (before in SUBJECTS | SINGULAR | {"you"} or c.back(2) in ARTICLES) and (
        earlier in HAVE or c.back(steps + 2) in HAVE
    ):
        return past
    causing = earlier in ("did", "does", "let", "help", "can", "will", "make")
    if before in ("he", "she", "it") and not causing:
        return past
    if before in ("who", "which") and not causing and not c.near(PRESENT):
        return past
    if before in MODALS | {"to"} or earlier in MODALS - {"please"} or before in ARTICLES:
        return present
    if c.near(PAST) and not (
        c.near(word_set("every always usually tomorrow")) and not c.near(word_set("was were yesterday last ago"))
    ):
        return past
    if c.near(PRESENT):
        return present
    if before in ("i", "we", "they"):
        specific = (
            c.ahead() in word_set("the that your his her it about this an somewhere in through their my")
            or c.ahead() == "a"
        )
        return past if specific else present
    if before in ("", "and", "you", "or", "people", "children", "students") or is_plural(before):
        return present
    return past


def _live(c: Context) -> str:
    verb, other = "lˈɪv", "lˈIv"
    if c.ahead() in LIVE_THINGS or c.back() in BE - {"being"} | {"the", "a", "this", "our"}:
        return other
    if c.back() in LIVE_VERBS or (c.back() in OBJECTS and c.near(LIVE_VERBS | {"see", "saw", "seen", "watched"})):
        return other
    if c.back(2) in LIVE_VERBS and c.ahead() in ("", "on", "from", "at") and part_of_speech(c) != "VERB":
        return other
    return other if c.back() == "" and c.ahead() in ("from", "on", "at", "now") else verb


def _lives(c: Context) -> str:
    verb = part_of_speech(c) == "VERB" or c.ahead() in word_set("in near alone next with here there across on at down")
    plural = c.back() in DETERMINERS | PREPOSITIONS or c.back() in word_set(
        "save saved saves saving human cost lost lose private new"
    )
    return "lˈɪvz" if verb and not plural else "lˈIvz"


def _lead(c: Context) -> str:
    metal = "lˈɛd"
    if c.ahead() in word_set(
        "pipe pipes paint poisoning pencil weight weights bullet bullets batteries battery ore acid shot glass "
        "solder levels exposure contamination apron shielding ions crystal oxide atoms sheet sheets roof"
    ):
        return metal
    verb = part_of_speech(c) == "VERB"
    if verb or c.ahead() in word_set(
        "singer actor actress role guitarist vocalist to the him her them us story author time"
    ):
        return "lˈid"
    if c.back() in ARTICLES and not c.near(word_set("metal ore pipe pipes pencil element")):
        return "lˈid"
    return metal if c.near(METAL) else "lˈid"


def _tear(c: Context) -> str:
    rip, weep = ("tˈɛɹz", "tˈɪɹz") if c.word == "tears" else ("tˈɛɹ", "tˈɪɹ")
    if c.ahead() in word_set("gas duct ducts drop drops stain stained jerker") or (
        c.word == "tears" and c.ahead() in ("of", "in")
    ):
        return weep
    if c.back() in ("in", "into", "of", "with", "shed", "her", "his", "my") and c.word == "tears":
        return weep
    verb = part_of_speech(c) == "VERB" or (
        c.ahead() in ("up", "apart", "off", "open", "through", "down") and c.back() != "a"
    )
    return rip if (verb and c.ahead() not in BE) or c.near(RIPPED) else weep


def _wind(c: Context) -> str:
    verb, noun = ("wˈIndz", "wˈɪndz") if c.word == "winds" else ("wˈInd", "wˈɪnd")
    if c.word == "winds":
        along = c.ahead() in word_set("through around along up down its past between across round")
        return verb if along and not c.back().endswith(("ing", "ong", "gh")) and c.back() not in ARTICLES else noun
    return verb if part_of_speech(c) == "VERB" or (c.ahead() == "up" and c.back() not in ARTICLES) else noun


def _wound(c: Context) -> str:
    turned = c.ahead() in word_set("up down around through its round tightly into along the his her a")
    subject = c.back() in SUBJECTS | SINGULAR | HAVE or c.back() in ("was", "is", "tightly", "were", "clock")
    if c.back() in MODALS | {"to"} or c.back() in ARTICLES - {"that"}:
        return "wˈund"
    return "wˈWnd" if turned or subject else "wˈund"


def _close(c: Context) -> str:
    verb, adjective = "klˈOz", "klˈOs"
    before, _ = c.before_adverbs()
    if c.back() in word_set(
        "very so too how as more get got gets getting stay stayed come came comes keep kept stand standing sit "
        "sat sitting right pretty hold held quite draw drew bring brought been is are was were be being"
    ):
        return adjective
    if (
        before in ("a", "the")
        and (c.ahead() in ("", "of") or c.back(2) in ("to", "at", "by"))
        and c.ahead() != "friend"
    ):
        return verb if c.ahead() not in CLOSE_ADJ else adjective
    if part_of_speech(c) == "VERB" and not (c.ahead() == "to" and before not in MODALS | SUBJECTS | {"to"}):
        return verb
    if takes_object(c.ahead()) and c.back() in CONJUNCTIONS | {""}:
        return verb
    return adjective


def _use(c: Context) -> str:
    verb, noun = ("jˈuzᵻz", "jˈusᵻz") if c.word == "uses" else ("jˈuz", "jˈus")
    if c.ahead() == "of" or (c.back() in word_set("no any in of into out much") and c.back() != "to"):
        return noun
    if c.back() in ("make", "makes", "made", "making"):
        return noun
    tag = part_of_speech(c)
    if tag == "VERB" or (c.back() == "" and c.ahead() not in ("", "is", "case", "cases")):
        return verb
    if tag == "NOUN" and takes_object(c.ahead()) and c.back() not in DETERMINERS | PREPOSITIONS:
        return verb
    return noun


def _used(c: Context) -> str:
    habit, employed = "jˈust", "jˈuzd"
    if c.ahead() != "to":
        return employed
    if c.back() in word_set("get gets got getting become became not") or c.back() in word_set(
        "i'm you're we're they're he's she's am"
    ):
        return habit
    if c.back() in word_set("is are was were be been being it's that's") or c.back(2) in word_set(
        "is are was were be been"
    ):
        after = c.ahead(2)
        return habit if after in ARTICLES | OBJECTS or after.endswith("ing") else employed
    return habit


def _bow(c: Context) -> str:
    bend, loop = ("bˈWz", "bˈOz") if c.word == "bows" else ("bˈW", "bˈO")
    if c.ahead() in word_set("tie ties and string saw window") and c.word == "bow":
        return loop if c.ahead() != "and" or c.near(ARCHERY) else bend
    if part_of_speech(c) == "VERB" or c.ahead() in ("down", "before") or c.near(SHIP):
        return bend
    if c.near(ARCHERY):
        return loop
    return bend if c.near(STAGE) or c.ahead() == "to" else loop


def _bass(c: Context) -> str:
    if c.ahead() in MUSIC or c.back() in ("double", "electric", "upright", "heavy", "deep"):
        return "bˈAs"
    if c.ahead() in word_set("fishing fish boat") or c.back() in word_set(
        "sea striped largemouth smallmouth chilean grilled"
    ):
        return "bˈæs"
    return "bˈæs" if c.near(FISH) and not c.near(MUSIC) else "bˈAs"


def _row(c: Context) -> str:
    about = c.ahead() in ("over", "with", "between", "about", "erupted", "broke")
    quarrel = (
        c.back() in ARTICLES | {"blazing", "furious", "huge", "terrible", "big", "massive", "diplomatic"} and about
    )
    return "ɹˈW" if quarrel or (c.near(QUARREL) and c.ahead() not in ("of", "a", "the", "your")) else "ɹˈO"


def _sow(c: Context) -> str:
    return "sˈW" if c.back() in ARTICLES or c.near(word_set("pig pigs piglets boar sty pigpen")) else "sˈO"


def _dove(c: Context) -> str:
    moved = c.ahead() in word_set(
        "into in off down under for deep straight headfirst right from underwater toward towards beneath "
        "onto through head over across below headlong to"
    )
    bird = c.back() in ARTICLES | {"white", "turtle", "mourning", "gray", "grey", "rock", "of"}
    return "dˈOv" if (moved and not bird) or c.back() in SUBJECTS | SINGULAR | {"and"} else "dˈʌv"


def _refuse(c: Context) -> str:
    noun = c.ahead() in word_set("collection bin bins dump disposal collector collectors truck heap sacks bags")
    if noun or (part_of_speech(c) == "NOUN" and c.ahead() != "to"):
        return "ɹˈɛfjˌus"
    return "ɹəfjˈuz"


def _produce(c: Context) -> str:
    noun = c.ahead() in word_set("section aisle department market stand")
    fresh = c.back() in word_set("fresh local organic farm dairy agricultural garden sell sells sold buy bought buys")
    if noun or fresh or (part_of_speech(c) == "NOUN" and not takes_object(c.ahead())):
        return "pɹˈOdˌus"
    return "pɹədˈus"


def _minute(c: Context) -> str:
    small = c.ahead() in SMALL or c.back() in word_set("very so too most how extremely incredibly")
    size = c.back() in word_set("is are was were") and c.ahead() in ("", "but", "and", "compared")
    return "mInˈut" if small or size else "mˈɪnᵻt"


def _polish(c: Context) -> str:
    nation, shine = "pˈOlɪʃ", "pˈɑlɪʃ"
    if not c.capital:
        return shine
    return shine if c.back() == "" and takes_object(c.ahead()) else nation


def _content(c: Context) -> str:
    before, _ = c.before_adverbs()
    happy = (
        before in BE | {"to"}
        or (c.ahead() == "with" and before not in ARTICLES)
        or (c.ahead() == "to" and c.back() != "the")
    )
    return (
        "kəntˈɛnt"
        if happy or (c.back() == "and" and c.back(3) in BE) or c.back() in ("very", "quite", "perfectly", "be")
        else "kˈɑntɛnt"
    )


def _invalid(c: Context) -> str:
    person = c.back() in ARTICLES and c.ahead() in word_set(
        "who was is in and lay needs needed had has for husband wife son"
    ) | {""}
    return "ˈɪnvəlɪd" if person or c.ahead() in ("husband", "wife", "mother", "chair") else "ɪnvˈælɪd"


def _resume(c: Context) -> str:
    paper = part_of_speech(c) == "NOUN" and c.back() != "" and not takes_object(c.ahead())
    return "ɹˈɛzəmˌA" if paper or c.ahead() in ("writing", "template", "and") else "ɹəzˈum"


def _learned(c: Context) -> str:
    title = c.back() in ("a", "the", "most", "very", "my") and c.ahead() not in {"", "to", "that"} | PREPOSITIONS
    return "lˈɜɹnɪd" if title else "lˈɜɹnd"


def _blessed(c: Context) -> str:
    return (
        "blˈɛsɪd" if (c.back() in ARTICLES and c.ahead() not in PREPOSITIONS | {""}) or c.ahead() == "are" else "blˈɛst"
    )


def _aged(c: Context) -> str:
    return (
        "ˈAʤɪd"
        if c.back() in ("the", "an", "my", "her", "his") and c.ahead() not in ("cheese", "beef", "wine")
        else "ˈAʤd"
    )


def _moped(c: Context) -> str:
    return "mˈOpt" if c.back() in SUBJECTS | SINGULAR or c.ahead() in ("around", "about") else "mˈOpˌɛd"


def _perfect(c: Context) -> str:
    verb = (c.back() in MODALS | {"to"} and takes_object(c.ahead())) or (c.back() == "" and takes_object(c.ahead()))
    return "pəɹfˈɛkt" if verb else "pˈɜɹfəkt"


def _subject(c: Context) -> str:
    verb = part_of_speech(c) == "VERB" and takes_object(c.ahead())
    return "səbʤˈɛkt" if verb else "sˈʌbʤɛkt"


def _present(c: Context) -> str:
    verb, other = ("pɹəzˈɛnts", "pɹˈɛzᵊnts") if c.word == "presents" else ("pɹəzˈɛnt", "pɹˈɛzᵊnt")
    return verb if part_of_speech(c) == "VERB" else other


def _graduate(c: Context) -> str:
    verb = part_of_speech(c) == "VERB" or (c.ahead() in ("from", "in", "with", "next") and c.back() not in DETERMINERS)
    return "ɡɹˈæʤʊˌAt" if verb else "ɡɹˈæʤəwət"


def _house(c: Context) -> str:
    return "hˈWz" if part_of_speech(c) == "VERB" and c.ahead() not in BE | {""} else "hˈWs"


def _excuse(c: Context) -> str:
    verb, noun = ("ɪkskjˈuzᵻz", "ɪkskjˈusᵻz") if c.word == "excuses" else ("ɪkskjˈuz", "ɪkskjˈus")
    if c.word == "excuses" and c.back() in ("make", "makes", "making", "made"):
        return noun
    return noun if part_of_speech(c) in ("NOUN", "ADJ") and c.ahead() not in OBJECTS else verb


def _upset(c: Context) -> str:
    event = c.back() in ARTICLES | {"major", "big"} and c.ahead() in ("", "in", "win", "victory", "of")
    return "ˈʌpsˌɛt" if event else "ˌʌpsˈɛt"


def _axes(c: Context) -> str:
    return "ˈæksᵻz" if c.near(CHOP) else "ˈæksˌiz"


def _bases(c: Context) -> str:
    return "bˈAsiz" if c.near(BASIS) else "bˈAsᵻz"


def _sake(c: Context) -> str:
    return "sˈɑki" if c.near(JAPANESE) and c.ahead() != "of" and c.back() not in ("own", "god's") else "sˈAk"


def _city(city: str, word: str) -> Reader:
    return lambda c: city if c.capital and c.back() in word_set("in to from near of at visit visited") else word


def _deserts(c: Context) -> str:
    return "dəzˈɜɹts" if c.back() == "just" or part_of_speech(c) == "VERB" else "dˈɛzəɹts"


def _estimate(c: Context) -> str:
    return "ˈɛstəmət" if part_of_speech(c) in ("NOUN", "ADJ") and not takes_object(c.ahead()) else "ˈɛstəmˌAt"


def special_readers() -> dict[str, Reader]:
    """Words with rules of their own, in lower case."""
    return {
        "read": _read, "live": _live, "lives": _lives, "lead": _lead, "tear": _tear, "tears": _tear, "wind": _wind,
        "winds": _wind, "wound": _wound, "close": _close, "use": _use, "uses": _use, "used": _used, "bow": _bow,
        "bows": _bow, "bowed": lambda c: "bˈWd", "bass": _bass, "row": _row, "sow": _sow, "dove": _dove,
        "refuse": _refuse, "produce": _produce, "minute": _minute, "polish": _polish, "content": _content,
        "contents": lambda c: "kˈɑntɛnts", "invalid": _invalid, "resume": _resume, "learned": _learned,
        "blessed": _blessed, "aged": _aged, "moped": _moped, "perfect": _perfect, "subject": _subject,
        "present": _present, "presents": _present, "graduate": _graduate, "house": _house,
        "houses": lambda c: "hˈWzᵻz", "excuse": _excuse, "excuses": _excuse, "axes": _axes,
        "upset": _upset, "bases": _bases,
        "sake": _sake, "deserts": _deserts, "estimate": _estimate, "nice": _city("nˈis", "nˈIs"),
        "reading": _city("ɹˈɛdɪŋ", "ɹˈidɪŋ"), "mobile": _city("mObˈil", "mˈObᵊl"), "job": lambda c: "ʤˈɑb",
        "minutes": lambda c: "mˈɪnᵻts",
    }  # fmt: skip
