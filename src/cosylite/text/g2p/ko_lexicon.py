"""Words whose pronunciation the letters alone do not tell.

One entry a word: `*` stands before an onset that is tense, `+` before a syllable that takes an inserted ㄴ, `|` after
a part whose coda is read as before a pause; `a=b` gives the whole respelling; no mark: the word is regular although a
shorter entry or a rule says otherwise. Entries match at the start of a word, longer than two syllables anywhere.
"""

MARKED_WORDS = """
서울+역 색+연필 꽃+잎 갈*등 인*기 김*밥 음운론=음운논 담+요 나뭇+잎 깻+잎 솔+잎 한+여름 늦+여름 솜+이불 내복+약 식용+유
휘발+유 막+일 맨+입 물+약 물+엿 눈+요기 홑+이불 콩+엿 신+여성 맛|없 겉|옷 첫|인상 헛|웃음 값|어치 젖|어미
"""
