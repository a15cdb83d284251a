"""A small grammar of English: sentences with their parts of speech, and scenes of a play.

Many words have two parts of speech, so that only their neighbours tell which is meant, and some
are made of others, so that there are always new ones.
"""

import random
from collections.abc import Iterator

from .example import Material

WORDS = {
    "DET": "the the the a a this that every no some",
    "ADJ": "old young red quiet open cold long light fast plain dear strange bitter golden last",
    "NOUN": "loom thread weaver river light walk watch play fire night cloth hand king sister work"
    " dream ship song market winter shadow answer question fear hope love storm bell stone",
    "PROPN": "Ada Otto Mira Jonas Lena Paul York Venice",
    "VERB": "sees hears wants watches walks works plays fears hopes answers dreams lights sings"
    " carries leaves breaks keeps knows asks finds",
    "PAST": "saw heard wanted watched walked worked played feared answered carried left broke kept",
    "BARE": "see hear want watch walk work play fear answer dream light sing carry leave break",
    "AUX": "will can must may should would",
    "ADV": "slowly quietly never often again soon well fast there now",
    "ADP": "in on under near with from by over through",
    "PRON": "she he it they we someone nobody",
    "CCONJ": "and but or",
    "SCONJ": "because when if while",
    "NUM": "two three seven ten forty",
}
TAGS = {"PAST": "VERB", "BARE": "VERB", "STOP": "PUNCT", "COMMA": "PUNCT"}
RULES: dict[str, list[tuple[int, str]]] = {  # how likely, and what it becomes
    "S": [(6, "CLAUSE STOP"), (2, "CLAUSE COMMA CCONJ CLAUSE STOP"),
          (2, "CLAUSE SCONJ CLAUSE STOP")],
    "CLAUSE": [(8, "NP VP"), (1, "NP AUX ADV BARE NP"), (1, "ADV COMMA NP VP")],
    "NP": [(4, "DET NOUN"), (3, "DET ADJ NOUN"), (2, "PROPN"), (2, "PRON"), (1, "NUM NOUN"),
           (1, "DET NOUN ADP DET NOUN"), (1, "DET NOUN CCONJ DET NOUN")],
    "VP": [(3, "VERB NP"), (2, "PAST NP"), (2, "VERB ADV"), (2, "PAST ADP NP"), (2, "AUX BARE NP"),
           (1, "VERB ADP NP"), (1, "PAST")],
}  # fmt: skip
ENDINGS = {"NOUN": ["-maker", "-song", "ship"], "ADJ": ["ish"], "ADV": ["-wise"]}
SPEAKERS = ["ADA", "OTTO", "MIRA", "FIRST WEAVER", "SECOND WEAVER", "JONAS", "THE KING"]
Tagged = list[tuple[str, str]]


def sentence(chance: random.Random) -> Tagged:
    """Words with their parts of speech."""
    found = list(_expanded("S", chance))
    first = found[0][0]
    return [(first[0].upper() + first[1:], found[0][1]), *found[1:]]


def _expanded(symbol: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    if symbol in RULES:
        weights, choices = zip(*RULES[symbol], strict=True)
        for part in chance.choices(choices, weights)[0].split():
            yield from _expanded(part, chance)
        return
    if symbol in ("STOP", "COMMA"):
        yield (chance.choice("....!?") if symbol == "STOP" else ","), "PUNCT"
        return
    words = WORDS[symbol].split()
    word = words[min(int(chance.expovariate(4 / len(words))), len(words) - 1)]  # few are frequent
    if symbol in ENDINGS and chance.random() < 0.08:
        word += chance.choice(ENDINGS[symbol])
    yield word, TAGS.get(symbol, symbol)


def tagged_sentences(count: int = 3000, seed: int = 1) -> str:
    """A file of words and tags."""
    chance = random.Random(seed)
    blocks = ["".join(f"{w}\t{t}\n" for w, t in sentence(chance)) for _ in range(count)]
    return "\n".join(blocks)


def scenes(characters: int = 300_000, seed: int = 1) -> str:
    """Speeches of a play that nobody wrote."""
    chance, found, size = random.Random(seed), [], 0
    while size < characters:
        spoken = [_written(sentence(chance)) for _ in range(chance.randint(1, 4))]
        found.append(f"{chance.choice(SPEAKERS)}:\n" + "\n".join(spoken) + "\n")
        size += len(found[-1]) + 1
    return "\n".join(found)


def _written(words: Tagged) -> str:
    return "".join(word if tag == "PUNCT" else f" {word}" for word, tag in words).strip()


TAGGED = Material(
    "made",
    "Sentences made by a small grammar: the English treebank is not on this machine.",
    tagged_sentences,
)
SCENES = Material(
    "made",
    "A play made by a small grammar, not by Shakespeare: his plays are not on this machine.",
    scenes,
)
