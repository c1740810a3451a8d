"""English: addresses of the web and of people, file names, telephone numbers, versions."""

import re

from cosylite.text.normalise.en_numbers import cardinal, digits, number, pairs
from cosylite.text.normalise.en_rules import Rule, before

_DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|biz|io|ai|app|dev|co|me|tv|us|uk|ca|au|de|fr|es|it|nl|se|no|fi|dk|ch|at|be|pl|ru|"
    "cn|jp|kr|in|br|mx|eu|tech|xyz|online|site|store|blog|cloud|gg|ly|nz|ie|pt|gr|cz|hk|tw|sg|page|wiki|news|shop"
)
_FILES = (
    "pdf|txt|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|jsx?|tsx?|py|ipynb|java|cpp|hpp|cc|rs|go|rb|php|sh|"
    "sql|md|rst|log|ini|cfg|conf|zip|tar|gz|xz|rar|7z|exe|dll|dmg|apk|iso|bin|onnx|png|jpe?g|gif|svg|bmp|tiff?|webp|"
    "mp3|mp4|wav|flac|ogg|opus|avi|mkv|mov|webm|psd|tex|bib|lock|env"
)
_SAID = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals", "&": "and",
    "#": "hash", ":": "colon", "~": "tilde", "%": "percent", "@": "at", "+": "plus", "\\": "backslash", "*": "star",
}  # fmt: skip
_SPELT = {"www", "html", "htm", "php", "txt", "pdf", "csv", "tsv", "xml", "css", "js", "ts", "jsx", "tsx", "py", "cpp",
    "hpp", "rs", "rb", "sh", "sql", "md", "cfg", "exe", "dll", "dmg", "apk", "png", "gif", "svg", "bmp", "mkv", "uk",
    "us",
    "io", "ai", "tv", "eu", "cn", "jp", "kr", "xz", "gz", "id", "faq", "api", "docx", "xlsx", "pptx", "mp", "ipynb",
    "hk", "nz", "fr", "ly", "gg",
}  # fmt: skip


def spoken_code(text: str) -> str:
    """Letters, digits and marks of an address or file name as words."""
    words: list[str] = []
    for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", text):
        if piece.isdecimal():
            words.append(cardinal(piece) if len(piece) <= 2 and piece[0] != "0" else _code_digits(piece))
        elif piece.isalpha():
            words.append(" ".join(piece.upper()) if piece.lower() in _SPELT else piece)
        elif piece in _SAID:
            words.append(_SAID[piece])
    return " ".join(words)


def _code_digits(piece: str) -> str:
    return pairs(piece) if len(piece) == 4 and piece[:2] in ("19", "20") else digits(piece)


def _url(match: re.Match[str]) -> str:
    scheme, rest = match.group("scheme") or "", match.group("rest")
    tail = re.search(r"[.,;:!?)\]}'\"…]+$", rest)
    end = tail.group() if tail else ""
    body = rest[: len(rest) - len(end)].rstrip("/")
    return (spoken_code(body) if body else spoken_code(scheme.rstrip(":/"))) + end


def _handle(match: re.Match[str]) -> str:
    return f"at {_tag(match.group(1))}"


def _hashtag(match: re.Match[str]) -> str | None:
    tag = match.group(1)
    if tag.isdecimal():
        return f"number {cardinal(tag)}"
    named = before(match).rstrip().lower().endswith("hashtag")
    return ("" if named else "hashtag ") + _tag(tag)


def _tag(tag: str) -> str:
    """A handle or hashtag: cut at underscores, digits and inner capitals."""
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]|\d+|[^\W\d_]+", tag)
    return " ".join(_year_or_number(piece) if piece.isdecimal() else piece for piece in pieces)


def _year_or_number(piece: str) -> str:
    return pairs(piece) if len(piece) == 4 else number(piece)


def _phone(match: re.Match[str]) -> str:
    text = match.group()
    extension = re.search(r"(?:ext\.?|x)\s*(\d+)$", text)
    main = text[: extension.start()] if extension else text
    groups = [digits(group) for group in re.findall(r"\d+", main)]
    words = ("plus " if text.lstrip("(").startswith("+") else "") + ", ".join(groups)
    return words + (f", extension {digits(extension.group(1))}" if extension else "")


def _spelt_out(match: re.Match[str]) -> str:
    return re.sub(r"\bno\.", "number", match.group(1)) + ", ".join(
        digits(group) for group in re.findall(r"\d+", match.group(2))
    )


def _dotted(match: re.Match[str]) -> str:
    prefix = "version " if match.group(1) else ""
    parts = match.group(2).split(".")
    each = digits if len(parts) == 4 and any(len(part) == 3 for part in parts) else number
    joint = " dot " if each is digits else " point "
    suffix = match.group(3)
    return prefix + joint.join(each(part) for part in parts) + (f" {suffix}" if suffix else "")


def _version(match: re.Match[str]) -> str:
    return f"version {number(match.group(1))}"


_TEL = (
    r"(?:tel|phone|telephone|fax|mobile|cell|call|dial|text|whatsapp|hotline|number is)(?: me| us)?(?: at| on)?[.:]?\s*"
)
RULES: tuple[Rule, ...] = (
    (
        re.compile(r"(?<![\w.%+-])(?:mailto:)?([\w.%+-]++@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"),
        lambda match: spoken_code(match.group(1)),
    ),
    (
        re.compile(r"(?i)(?<![\w@.])(?P<scheme>(?:https?|ftps?|s?ftp|file|wss?|git|ssh)://)(?P<rest>[^\s<>“”]+)"),
        _url,
    ),
    (re.compile(r"(?i)(?<![\w@.])(?P<scheme>)(?P<rest>www\.[^\s<>“”]+)"), _url),
    (
        re.compile(
            rf"(?<![\w@.-])(?P<scheme>)(?P<rest>(?:[A-Za-z0-9][\w-]*+\.)+(?:{_DOMAINS})(?![\w-])(?:\.(?:{_DOMAINS})(?![\w-]))?"
            r"(?::\d+)?(?:[/?#][^\s<>“”]*)?)"
        ),
        lambda match: None if re.match(r"\d+\.\d*(?:in|[a-z]m)$", match.group("rest")) else _url(match),
    ),
    (
        re.compile(rf"(?i)(?<![\w./\\-])((?:[\w-]++[/\\.]){{0,12}}[\w-]+\.(?:{_FILES}))(?![\w-]|\.\w)"),
        lambda match: spoken_code(match.group(1)) if re.search("[A-Za-z]", match.group(1)[:-3]) or "." else None,
    ),
    (re.compile(r"(?<![\w.:/])((?:[A-Za-z]:\\|~?/|\.{1,2}/)(?:[\w.-]+[/\\])*[\w.-]*\w)"), lambda m: spoken_code(m[1])),
    (re.compile(r"\b([A-Ga-g])#"), lambda match: f"{match.group(1).upper()} sharp"),
    (re.compile(r"(?<!\w)\.NET\b"), lambda match: "dot net"),
    (re.compile(r"\b([A-Za-z])\+\+"), lambda match: f"{match.group(1).upper()} plus plus"),
    (re.compile(r"(?<![\w.])@(\w+)"), _handle),
    (re.compile(r"(?<![\w&])#(?=[A-Z]{1,3}-\d)"), lambda match: "number "),
    (re.compile(r"(?<![\w&])#(\w+)"), _hashtag),
    (
        re.compile(
            r"(?<![\w.-])(?:\+\d{1,3}[ .-]?)?(?:1[ .-])?(?:\(\d{2,4}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
            r"(?:,? *(?:ext\.?|x) *\d+)?(?![\w-])"
        ),
        _phone,
    ),
    (re.compile(r"(?<!\w)\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,6}(?!\w)"), _phone),
    (re.compile(r"(?<![\w.-])\d{3}-\d{4}(?:,? *(?:ext\.?|x) *\d+)?(?![\w-])"), _phone),
    (re.compile(r"(?<![\w-])(?:1-)?8\d\d-\d{3}-\d{4}(?![\w-])"), _phone),
    (re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), _phone),
    (re.compile(r"(?<![\w.,-])\d{4}(?:[ -]\d{4}){2,3}(?![\w-])"), _phone),
    (re.compile(r"(?<![\w.,/-])0\d{2,4}[ -]\d{3,4}(?:[ -]?\d{3,4})?(?![\w-])"), _phone),
    (re.compile(rf"(?i)\b({_TEL})(\d{{3,}}(?:[ -]\d{{2,}})*)(?![\w/:%-])"), _spelt_out),
    (
        re.compile(
            r"(?i)\b((?:code|pin|password|passcode|account|order|tracking|serial|ticket|confirmation|invoice|card|id|zip|"
            r"postcode|extension|flight|error)(?: (?:number|code|no\.|id))?(?: is)?:?\s+#?)(\d{3,})(?![\w.,/%:-]\w)"
        ),
        _spelt_out,
    ),
    (re.compile(r"\b([vV]\.? ?)?(\d+(?:\.\d+){2,})(?:-?((?:alpha|beta|rc|b)\b))?"), _dotted),
    (re.compile(r"\b[vV]\.?(\d+(?:\.\d+)?)\b"), _version),
    (re.compile(r"\b([A-Z]{2} )(\d{5}(?:-\d{4})?)(?![\w-])"), _spelt_out),
    (re.compile(r"\b(ISBN(?:-1[03])?:?\s)(\d[\d -]{8,15}[\dX])\b"), _spelt_out),
)
