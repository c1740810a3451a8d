"""What English context says about a word: noun, verb or adjective; and neighbours across no pause."""

from collections.abc import Sequence
from dataclasses import dataclass

from cosylite.text.g2p.en_lexicon import Entry


def word_set(words: str) -> frozenset[str]:
    """The words of a space-separated list."""
    return frozenset(words.split())


MODALS = word_set(
    "will would can could shall should may might must do does did don't doesn't didn't won't wouldn't can't "
    "cannot couldn't shouldn't mustn't needn't let's let please gonna wanna gotta i'll you'll he'll she'll "
    "we'll they'll it'll i'd you'd we'd they'd he'd she'd that'll who'll ain't help helps helped dare"
)
SUBJECTS = word_set("i you we they who")
SINGULAR = word_set("he she it everyone everybody someone somebody nobody anyone one which")
OBJECTS = word_set("me him them us it you myself yourself himself herself itself ourselves themselves")
DETERMINERS = word_set(
    "a an the my your his her its our their this these those no any some each every another which what whose "
    "many few several all both such one two three four five six seven eight nine ten first second third last "
    "next same other own most more less much only"
)
ARTICLES = word_set("a an the my your his her its our their this these those that every each some any no another")
PREPOSITIONS = word_set(
    "of in on for with at by from about into under over between during without after before against as like "
    "than per via through within upon toward towards across behind beyond until since despite"
)
BE = word_set(
    "is are was were be been being am isn't aren't wasn't weren't i'm you're we're they're he's she's it's "
    "that's there's feel feels felt seem seems seemed look looks looked become becomes became remain remains "
    "remained stay stayed sound sounds appear appears"
)
HAVE = word_set("have has had having i've you've we've they've haven't hasn't hadn't he's she's who's")
ADVERBS = word_set(
    "often always never usually also really just still already not sometimes rarely seldom then now soon ever "
    "even hardly barely almost quite very so too rather"
)
CONJUNCTIONS = word_set("and or but nor")
PLURAL_PEOPLE = word_set("people children men women police folks")
_NOT_PLURAL = word_set(
    "is was this its us yes has does as his thus plus less always perhaps across various previous serious "
    "famous unless towards besides hers yours news bus gas class"
)
_TO_NOUN = word_set(
    "due according close next relative access back response prior addition subject thanks contrary opposed "
    "compared similar owing respect return returned reference"
)
_CAUSE = word_set("let make makes made help helps helped see saw watch watched hear heard have had")
_NO_OBJECT = (
    BE | PREPOSITIONS | CONJUNCTIONS | HAVE | MODALS | word_set("that who which rose fell went grew came") | {""}
)
_CLAUSE_START = word_set("as when if while because that how") | {""}


@dataclass(frozen=True)
class Context:
    """A word among its neighbours, all in lower case; `""` stands beyond a pause or the ends of the text."""

    words: Sequence[str]
    pauses: Sequence[str]
    index: int
    capital: bool = False
    """Whether the word is typed with a capital."""

    @property
    def word(self) -> str:
        return self.words[self.index]

    def back(self, steps: int = 1) -> str:
        """The word `steps` before this one."""
        at = self.index - steps
        return self.words[at] if at >= 0 and not any(self.pauses[at : self.index]) else ""

    def ahead(self, steps: int = 1) -> str:
        """The word `steps` behind this one."""
        at = self.index + steps
        return self.words[at] if at < len(self.words) and not any(self.pauses[self.index : at]) else ""

    def near(self, clues: frozenset[str]) -> bool:
        """Whether a clue stands in the same sentence."""
        return not clues.isdisjoint(self.sentence())

    def sentence(self) -> list[str]:
        """The other words of the sentence, at most 25 on each side."""
        first = last = self.index
        while first > max(0, self.index - 25) and self.pauses[first - 1] not in tuple(".!?…"):
            first -= 1
        while last + 1 < min(len(self.words), self.index + 26) and self.pauses[last] not in tuple(".!?…"):
            last += 1
        return [*self.words[first : self.index], *self.words[self.index + 1 : last + 1]]

    def before_adverbs(self) -> tuple[str, int]:
        """The nearest earlier word that is no adverb, and how many steps back it stands."""
        steps = 1
        while self.back(steps) in ADVERBS or (
            self.back(steps).endswith("ly") and self.back(steps) not in ("family", "only", "early", "daily", "supply")
        ):
            steps += 1
        return self.back(steps), steps


def is_plural(word: str) -> bool:
    """Whether a neighbour looks like a plural noun."""
    if word in PLURAL_PEOPLE:
        return True
    return word.endswith("s") and not word.endswith(("ss", "'s", "ous")) and word not in _NOT_PLURAL and len(word) > 3


def takes_object(word: str) -> bool:
    """Whether `word`, behind an open verb or noun, starts an object: so that the open word is a verb."""
    return (
        word in ARTICLES
        or word in OBJECTS
        or word in ("him", "her", "them", "more", "all", "everything", "what", "how")
    )


def part_of_speech(context: Context) -> str:
    """`NOUN`, `VERB`, `ADJ`, or `""` where the neighbours do not say. For base forms and forms in -s alike."""
    if context.word.endswith("s") and not context.word.endswith("ss"):
        return _third_person(context)
    before, steps = context.before_adverbs()
    following = context.ahead()
    if before == "to":
        return "NOUN" if context.back(steps + 1) in _TO_NOUN else "VERB"
    if before in MODALS or before in SUBJECTS or before.endswith(("n't", "'ll")):
        return "VERB"
    if before == "you" or (before in OBJECTS and context.back(steps + 1) in _CAUSE | MODALS):
        return "VERB"
    if before == "that":
        return "VERB" if is_plural(context.back(steps + 1)) or takes_object(following) else "NOUN"
    if before in DETERMINERS or before.endswith("'s"):
        return "NOUN"
    if before in BE:
        return "ADJ"
    if before in PREPOSITIONS:
        return "NOUN"
    if before == "":
        if steps > 1:
            return "VERB" if takes_object(following) else ""
        return _opening(context)
    if before in CONJUNCTIONS:
        return "VERB" if takes_object(following) else _opening(context)
    return _after_noun(context, before, steps)


def _opening(context: Context) -> str:
    """At the start of a clause: an order if an object follows."""
    following = context.ahead()
    if takes_object(following):
        return "VERB"
    return "NOUN" if following in BE | PREPOSITIONS | CONJUNCTIONS | HAVE | MODALS | {""} else ""


def _after_noun(context: Context, before: str, steps: int) -> str:
    following = context.ahead()
    if is_plural(before) and following not in BE | MODALS | HAVE | CONJUNCTIONS | {"of"}:
        subject = context.back(steps + 1)
        further = steps + 1
        while context.back(further) in DETERMINERS:
            further += 1
        opens = further > steps + 1 and context.back(further) in _CLAUSE_START
        if following or opens or subject in ("as", "when", "if", "while", "because", "until", "how", ""):
            return "VERB"
    if context.words[context.index - 1].endswith("ly") and takes_object(following):
        return "VERB"
    if (
        takes_object(following)
        and following not in ("that", "this", "all", "more", "what", "how")
        and context.capital is False
    ):
        return "VERB" if following in OBJECTS else "NOUN" if before not in ("and", "or") else "VERB"
    return "NOUN"


def _third_person(context: Context) -> str:
    """Noun plural or verb in -s."""
    before, steps = context.before_adverbs()
    following = context.ahead()
    if before in SINGULAR or (before == "that" and context.back(steps + 1)):
        return "VERB"
    if before in DETERMINERS | PREPOSITIONS | BE | MODALS | {"", "to"} or before.endswith("'s"):
        return "NOUN"
    if before in CONJUNCTIONS:
        return "VERB" if takes_object(following) else "NOUN"
    if is_plural(before):
        return "NOUN"
    if context.back(steps + 1) in ARTICLES and context.back(steps + 2) == "" and following not in _NO_OBJECT:
        return "VERB"
    if takes_object(following) or following in (
        "to",
        "with",
        "in",
        "on",
        "at",
        "against",
        "near",
        "alone",
        "into",
        "from",
    ):
        subject = context.back(steps + 1)
        singular = subject in ARTICLES | {""} or context.back(steps + 2) in ARTICLES
        return "VERB" if singular and before not in ADVERBS else "NOUN"
    return "NOUN"


def by_part_of_speech(entry: Entry, context: Context) -> str:
    """The lexicon's variant for the part of speech that the context asks for."""
    tags = [tag for tag in ("NOUN", "VERB", "ADJ") if tag in entry.variants]
    if not tags:
        return entry.phones
    tag = part_of_speech(context)
    if tag == "NOUN" and "ADJ" in tags and "NOUN" not in tags and context.ahead() not in BE | {"", "of"}:
        tag = "ADJ"
    if tag == "ADJ" and "ADJ" not in tags:
        tag = "NOUN"
    if tag == "NOUN" and "NOUN" not in tags and "ADJ" in tags and "VERB" not in tags:
        tag = "ADJ"
    return entry.of(tag)
