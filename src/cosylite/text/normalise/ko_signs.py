"""Characters that are rewritten before anything else: emoji, full width, squared units. Used for Japanese, too."""

import re
import unicodedata

from cosylite.text.aligned import AlignedText

_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u23e9-\u23fa\u231a\u231b\ufe0e\ufe0f\u200b-\u200f\u20e3\ufeff]"
)
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a％＋－＝＆＠＃＄￥￦／＊]")
_SQUARED = re.compile("[\u3380-\u33df\u2460-\u2473]")


def plain_signs(text: AlignedText) -> AlignedText:
    """`text` without emoji, with ASCII letters, digits and signs, and with squared units written out."""
    text = text.sub(_EMOJI, "")
    text = text.sub(_WIDE, lambda match: unicodedata.normalize("NFKC", match.group()))
    return text.sub(_SQUARED, lambda match: unicodedata.normalize("NFKC", match.group()))
