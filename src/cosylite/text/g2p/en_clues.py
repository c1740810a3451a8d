"""Clue words and reading pairs for English heteronyms."""

from cosylite.text.g2p.en_context import word_set

PAST = word_set(
    "yesterday ago last earlier once previously was were had did went said told came took saw bought gave "
    "found wrote knew thought made felt left loved liked already before morning finished learned nineteen "
    "childhood when"
)
PRESENT = word_set(
    "every always usually often sometimes daily never tomorrow now generally normally rarely will can if to"
)
METAL = word_set(
    "pipe pipes metal heavy paint toxic poison poisonous poisoning zinc copper tin mercury iron arsenic "
    "element melt melts molten plumbing weighs bullets bullet pencil gold silver ore soft contains contain "
    "contained lined roof solder gasoline petrol battery batteries dense metals aluminum steel contaminated "
    "contamination atomic gray grey radiation shield"
)
RIPPED = word_set(
    "shirt fabric jeans cloth muscle ligament hole dress sleeve page wear meniscus tendon acl sail pants "
    "sweater trousers coat curtain tent knee shoulder repair fix sew sewed patch jacket skirt net paper "
    "retina cartilage seam carpet"
)
FISH = word_set(
    "fish fishing caught catch lake river sea striped largemouth smallmouth grilled fillet pond fisherman ate "
    "hook chilean cook rod bait trout salmon fried angler freshwater fished ocean boat dinner swam swim swims "
    "fishermen stream"
)
MUSIC = word_set(
    "guitar player drum drums line lines clef loud music sing sings sang voice amp play plays played playing "
    "band singer treble speaker speakers string strings boost note notes sound song double solo jazz piano "
    "tenor turn baritone upright"
)
ARCHERY = word_set(
    "arrow arrows hair ribbon tie tied violin cello gift hunting shoot shot archer archery string present "
    "dress pink red rainbow wrapped knot shoelaces package neck cross viola wore wearing"
)
SHIP = word_set("ship boat deck stern yacht vessel sailor captain hull port starboard canoe waves ferry")
STAGE = word_set(
    "audience actor actors curtain king queen applause performance performers stage emperor crowd took take "
    "takes taking respect greeting polite deep slight politely"
)
QUARREL = word_set(
    "furious argument quarrel shouting angry blazing terrible neighbors neighbours huge family heated wife "
    "husband domestic political loud fight diplomatic"
)
LIVE_THINGS = word_set(
    "concert concerts music show shows stream streams streaming streamed broadcast broadcasts performance "
    "performances audience wire wires bait animals animal chat tv television coverage updates event events "
    "band album recording session action version demo ammunition ammo stock feed video report scores "
    "entertainment radio interview webcast tour match game theater theatre rounds fire births bird birds "
    "cattle results blog debate"
)
LIVE_VERBS = word_set(
    "go goes going went gone broadcast broadcasting stream streaming streamed perform performing performed "
    "recorded aired air reporting airing watch listen shown coming came play played playing sing sang"
)
CLOSE_ADJ = word_set(
    "to by friend friends call relationship family enough game together race attention up range contact look "
    "proximity quarters relative relatives behind finish ties second encounter encounters match election vote "
    "at-hand resemblance watch inspection study examination collaboration links knit fit"
)
SMALL = word_set(
    "details detail particles amounts amounts amount differences difference quantities quantity changes "
    "change traces fraction cracks crack creatures organisms pieces holes insects animals variations grains "
    "doses parts portions particle scale bits bit trace proportions examination size"
)
CHOP = word_set(
    "wood tree trees chop chopped lumberjack lumberjacks swords weapons sharp sharpened firefighters vikings "
    "battle hatchets knives shields throwing"
)
BASIS = word_set("legal theoretical theory argument scientific basis moral")
JAPANESE = word_set("drink drank japanese rice sushi warm cup bottle hot drinking bar sip sipped japan brewed")

# noun or adjective, verb: pairs that the lexicon lacks
EXTRA_PAIRS: dict[str, tuple[str, str]] = {
    "export": ("ˈɛkspˌɔɹt", "ɪkspˈɔɹt"), "exports": ("ˈɛkspˌɔɹts", "ɪkspˈɔɹts"), "protest": ("pɹˈOtˌɛst", "pɹətˈɛst"),
    "protests": ("pɹˈOtˌɛsts", "pɹətˈɛsts"), "transfer": ("tɹˈænsfəɹ", "tɹænsfˈɜɹ"),
    "transfers": ("tɹˈænsfəɹz", "tɹænsfˈɜɹz"), "impact": ("ˈɪmpˌækt", "ɪmpˈækt"), "rebound": ("ɹˈibˌWnd", "ɹibˈWnd"),
    "recount": ("ɹˈikˌWnt", "ɹikˈWnt"), "frequent": ("fɹˈikwənt", "fɹikwˈɛnt"), "ally": ("ˈælˌI", "əlˈI"),
    "annex": ("ˈænˌɛks", "ənˈɛks"), "combat": ("kˈɑmbˌæt", "kəmbˈæt"), "upgrade": ("ˈʌpɡɹˌAd", "ˌʌpɡɹˈAd"),
    "update": ("ˈʌpdˌAt", "ˌʌpdˈAt"), "permits": ("pˈɜɹmɪts", "pəɹmˈɪts"), "projects": ("pɹˈɑʤˌɛkts", "pɹəʤˈɛkts"),
    "objects": ("ˈɑbʤəkts", "əbʤˈɛkts"), "rebels": ("ɹˈɛbᵊlz", "ɹəbˈɛlz"), "suspects": ("sˈʌspˌɛkts", "səspˈɛkts"),
    "conflicts": ("kˈɑnflˌɪkts", "kənflˈɪkts"), "conducts": ("kˈɑndˌʌkts", "kəndˈʌkts"),
    "desert": ("dˈɛzəɹt", "dəzˈɜɹt"), "mouth": ("mˈWθ", "mˈWð"),
}  # fmt: skip
