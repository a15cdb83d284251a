"""Synthetic data generators for the examples, used where the real datasets are missing.

- Tagged sentences and scenes of a play, from a probabilistic context-free grammar. Many words have
  two parts of speech, so that tagging needs the context, and some are compounds, so that there are
  always unknown words.
- Hymns in four parts, from rules of harmony: a Markov chain of chords with small voice movements.
- Text messages from templates, spam and ham.
- Monthly river flow, from a simple rainfall-runoff model with snow and groundwater:

  rain_t   = seasonal mean · gamma noise · exp of an AR(1) process (wet and dry years)
  snow_t   = precipitation below freezing; it melts in spring
  store_t  = 0.75 store_{t-1} + 0.7 (rain + meltwater) - evaporation
  flow_t   = 0.25 store_{t-1} + 0.3 (rain + meltwater)

- Invented words with their phonemes, by spelling rules that depend on the context: c is soft before
  e and i, a final e is silent and lengthens the vowel before it, two letters can be one phoneme.
"""

import json
import math
import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, product

from .example import ExampleData

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
RULES: dict[str, list[tuple[int, str]]] = {  # weight and expansion of each production
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


def sentence(rng: random.Random) -> Tagged:
    """A sentence as words with part-of-speech tags."""
    found = list(_expanded("S", rng))
    first = found[0][0]
    return [(first[0].upper() + first[1:], found[0][1]), *found[1:]]


def _expanded(symbol: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    if symbol in RULES:
        weights, choices = zip(*RULES[symbol], strict=True)
        for part in rng.choices(choices, weights)[0].split():
            yield from _expanded(part, rng)
        return
    if symbol in ("STOP", "COMMA"):
        yield (rng.choice("....!?") if symbol == "STOP" else ","), "PUNCT"
        return
    words = WORDS[symbol].split()
    word = words[
        min(int(rng.expovariate(4 / len(words))), len(words) - 1)
    ]  # exponential: few words are frequent
    if symbol in ENDINGS and rng.random() < 0.08:
        word += rng.choice(ENDINGS[symbol])
    yield word, TAGS.get(symbol, symbol)


def tagged_sentences(count: int = 3000, seed: int = 1) -> str:
    """A CoNLL file of words and tags."""
    rng = random.Random(seed)
    blocks = ["".join(f"{w}\t{t}\n" for w, t in sentence(rng)) for _ in range(count)]
    return "\n".join(blocks)


def scenes(characters: int = 300_000, seed: int = 1) -> str:
    """Speeches of a play, from the grammar."""
    rng, found, size = random.Random(seed), [], 0
    while size < characters:
        spoken = [_written(sentence(rng)) for _ in range(rng.randint(1, 4))]
        found.append(f"{rng.choice(SPEAKERS)}:\n" + "\n".join(spoken) + "\n")
        size += len(found[-1]) + 1
    return "\n".join(found)


def _written(words: Tagged) -> str:
    return "".join(word if tag == "PUNCT" else f" {word}" for word, tag in words).strip()


TAGGED = ExampleData(
    "made",
    "Sentences made by a small grammar: the English treebank is not on this machine.",
    tagged_sentences,
)
SCENES = ExampleData(
    "made",
    "A play made by a small grammar, not by Shakespeare: his plays are not on this machine.",
    scenes,
)


FOLLOWS = {  # chord transitions by scale degree; repeated ones are more likely
    1: (1, 4, 4, 5, 5, 6, 2), 2: (5, 5, 7), 3: (6, 4), 4: (5, 5, 1, 2), 5: (1, 1, 1, 6),
    6: (2, 4, 4, 5), 7: (1,),
}  # fmt: skip
MAJOR, MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 11)
RANGES = ((41, 58), (50, 66), (55, 71), (62, 79))  # bass, tenor, alto, soprano
Chord = tuple[int, ...]


@lru_cache(maxsize=256)
def voicings(tones: tuple[int, ...]) -> list[Chord]:
    """All four-part voicings of a chord: root in the bass, voices in order, all tones present."""
    places = [[p for p in range(low, high + 1) if p % 12 in tones] for low, high in RANGES]
    places[0] = [pitch for pitch in places[0] if pitch % 12 == tones[0]]
    return [
        chord
        for chord in product(*places)
        if list(chord) == sorted(set(chord)) and {p % 12 for p in chord} == set(tones)
    ]


def piece(rng: random.Random) -> list[list[int]]:
    """A hymn of three to five phrases of eight steps; the last chord of each is held."""
    tonic, scale = rng.randrange(12), rng.choice([MAJOR, MAJOR, MINOR])
    chords: dict[int, list[Chord]] = {}
    for degree in FOLLOWS:
        tones = ((tonic + scale[(degree - 1 + third) % 7]) % 12 for third in (0, 2, 4))
        chords[degree] = voicings(tuple(tones))
    now, degree, found = rng.choice(chords[1]), 1, list[list[int]]()
    for _ in range(rng.choice([3, 4, 5])):
        for place in range(7):
            degree = 5 if place == 5 else 1 if place == 6 else rng.choice(FOLLOWS[degree])
            moves = [(_moved(now, other), other) for other in chords[degree]]
            now = rng.choice([other for _, other in sorted(moves)[:2]])
            found.append(list(now))
        found.append(list(now))
    return found


def _moved(now: Chord, after: Chord) -> float:
    """The total movement of the voices; the bass counts less."""
    return sum(
        abs(a - b) * (0.3 if not n else 1) for n, (a, b) in enumerate(zip(now, after, strict=True))
    )


def hymns(count: int = 240, seed: int = 1) -> str:
    """A file of pieces, one a line."""
    rng = random.Random(seed)
    lines = [json.dumps(piece(rng)) for _ in range(count)]
    return "\n".join(lines) + "\n"


HYMNS = ExampleData(
    "made", "Hymns made by rules of harmony: Bach's chorales are not on this machine.", hymns
)


HAM = (
    "are you coming {when}?",
    "{hello} can you call me {when}",
    "i left the {thing} at {place}",
    "meet me at {place} {when}",
    "ok see you {when} then",
    "did you win the game {when}?",
    "{hello} the {thing} is ready, call {person}",
    "sorry i can't talk now, will text you {when}",
    "{person} says the tickets are free {when}",
    "happy birthday {person}! see you {when}",
    "can you bring the {thing} to {place}?",
    "no reply from {person} yet, i will call {when}",
    "my new number is {number}, call me {when}",
    "lunch {when}? i have a free hour",
    "thanks for the {thing}, it is great",
    "please tell {person} i am at {place}",
)
SPAM = (
    "{win} you have won a {prize}! call {number} now",
    "free {prize}! text {code} to {number}",
    "urgent! your {account} needs attention, call {number}",
    "{hello} claim your {prize} {when}: {link}",
    "your {account} has won {money}, reply {code} to claim",
    "last chance: {prize} for {money}, {link}",
    "{win} text {code} to {number} to get a {prize}",
    "you are selected for {money}, call {number} {when}",
    "cheap {prize} only {when}! visit {link}",
    "{person} sent you a message, read it at {link}",
    "we tried to call you about your {prize}. ring {number}",
    "loan of {money} approved {when}, {link}",
)
SLOTS = {
    "when": ("tonight", "tomorrow", "at 6", "on sunday", "later", "now", "next week", "today"),
    "hello": ("hey", "hi", "hello", "hiya", "dear"),
    "thing": ("book", "car", "phone", "cake", "jacket", "key", "present", "ticket"),
    "place": ("work", "home", "the station", "school", "the pub", "mum's", "the shop"),
    "person": ("ada", "otto", "mira", "jonas", "lena", "your sister", "the boss"),
    "win": ("congratulations!", "winner!!", "good news:", "attention!", "hooray"),
    "prize": ("phone", "holiday", "voucher", "ringtone", "camera", "bonus", "ticket"),
    "account": ("account", "mobile number", "card", "subscription"),
    "money": ("£500", "£1000", "$2,000", "5000 euro", "£100 cash"),
    "code": ("WIN", "YES", "CLAIM", "STOP", "GO", "PRIZE"),
    "link": ("www.prizes.example", "bit.example/win", "http://claim.example", "deals.example"),
}


def message(rng: random.Random, is_spam: bool) -> str:
    """A message from a template, with random case and endings."""
    slots = {name: rng.choice(words) for name, words in SLOTS.items()}
    slots["number"] = f"0{rng.randint(10**9, 10**10 - 1)}"
    text = rng.choice(SPAM if is_spam else HAM).format(**slots)
    if rng.random() < 0.3:
        text = text.upper() if is_spam and rng.random() < 0.5 else text.capitalize()
    if rng.random() < 0.2:
        text += rng.choice([" x", " :)", " lol", "!!", " ..."])
    return text


def messages(count: int = 4000, seed: int = 1) -> str:
    """A CSV file of distinct messages and labels; one in five is spam."""
    rng, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        is_spam = rng.random() < 0.2
        found.setdefault(message(rng, is_spam), "spam" if is_spam else "ham")
    rows = [f'"{text.replace(chr(34), chr(34) * 2)}",{label}\n' for text, label in found.items()]
    return "".join(["text,label\n", *rows])


TEMPLATES = ExampleData(
    "made", "Messages made from templates: real ones are not on this machine.", messages
)


def flows(months: int, seed: int = 1) -> list[float]:
    """Monthly flows in cubic metres a second."""
    rng = random.Random(seed)
    store, snow, wet, found = 80.0, 0.0, 0.0, list[float]()
    for month in range(months + 24):  # a burn-in of two years
        angle = 2 * math.pi * (month % 12) / 12
        wet = 0.92 * wet + rng.gauss(0, 0.12)
        rain = 60 * (1 + 0.35 * math.cos(angle - 0.6)) * math.exp(wet) * rng.gammavariate(4, 0.25)
        cold = 9 - 11 * math.cos(angle) + rng.gauss(0, 1.5)  # degrees Celsius; month 0 is January
        kept = rain if cold < 1 else 0.0
        melt = snow * min(1.0, max(0.0, cold) / 9)
        snow += kept - melt
        run_off, taken = rain - kept, 18 * max(0.0, cold) / 20
        found.append(max(4.0, 0.25 * store + 0.3 * (run_off + melt)))
        store = max(5.0, 0.75 * store + 0.7 * (run_off + melt) - taken)
    return found[24:]


def monthly_flow(years: int = 60, seed: int = 1) -> str:
    """A CSV file of months and flows."""
    rows = [
        f"{1960 + month // 12}-{month % 12 + 1:02},{flow:.1f}\n"
        for month, flow in enumerate(flows(12 * years, seed))
    ]
    return "".join(["month,flow\n", *rows])


FLOW = ExampleData("made", "Simulated river flow: rain, snow and groundwater.", monthly_flow)


ONSETS = {"b": "B", "bl": "B L", "br": "B R", "c": "K", "ch": "CH", "cl": "K L", "d": "D",
          "dr": "D R", "f": "F", "fl": "F L", "g": "G", "gr": "G R", "h": "HH", "j": "JH",
          "k": "K", "l": "L", "m": "M", "n": "N", "p": "P", "ph": "F", "pl": "P L", "qu": "K W",
          "r": "R", "s": "S", "sh": "SH", "sl": "S L", "st": "S T", "str": "S T R", "t": "T",
          "th": "TH", "tr": "T R", "v": "V", "w": "W", "wh": "W", "y": "Y", "z": "Z"}  # fmt: skip
SHORT = {"a": "AE", "e": "EH", "i": "IH", "o": "AA", "u": "AH"}
LONG = {"a": "EY", "e": "IY", "i": "AY", "o": "OW", "u": "UW"}
PAIRS = {"ai": "EY", "ee": "IY", "ea": "IY", "oa": "OW", "oo": "UW", "ou": "AW", "oi": "OY",
         "ar": "AA R", "er": "ER", "or": "AO R"}  # fmt: skip
CODAS = {"": "", "b": "B", "ck": "K", "d": "D", "ff": "F", "g": "G", "l": "L", "ll": "L", "m": "M",
         "n": "N", "ng": "NG", "nk": "NG K", "nd": "N D", "p": "P", "sh": "SH", "ss": "S",
         "st": "S T", "t": "T", "tch": "CH", "th": "TH", "x": "K S"}  # fmt: skip
LENGTHENED = {"b": "B", "d": "D", "k": "K", "l": "L", "m": "M", "n": "N", "p": "P", "r": "R",
              "t": "T", "v": "V", "z": "Z", "c": "S", "g": "JH"}  # fmt: skip
WORD_ENDINGS = {"": "", "ing": "IH NG", "er": "ER", "tion": "SH AH N", "ly": "L IY", "y": "IY"}


def syllable(rng: random.Random, is_last: bool) -> tuple[str, str]:
    """A syllable: its spelling and its phonemes."""
    onset, phonemes = rng.choice([*ONSETS.items()])
    kind = rng.random()
    if is_last and kind < 0.25:  # name, mice, huge: the e is silent
        vowel, sound = rng.choice([*LONG.items()])
        coda, end = rng.choice([*LENGTHENED.items()])
        spelt, after = f"{vowel}{coda}e", f"{sound} {end}"
    elif kind < 0.55:
        vowel, sound = rng.choice([*PAIRS.items()])
        coda, end = rng.choice([*CODAS.items()])
        spelt, after = vowel + coda, f"{sound} {end}"
    else:
        vowel, sound = rng.choice([*SHORT.items()])
        coda, end = rng.choice([*CODAS.items()])
        spelt, after = vowel + coda, f"{sound} {end}"
    is_soft = onset == "c" and spelt[0] in "ei"
    return onset + spelt, f"{'S' if is_soft else phonemes} {after}"


def word(rng: random.Random) -> tuple[str, str]:
    """A word of one to three syllables, some with an ending."""
    count = rng.choice([1, 2, 2, 2, 3])
    parts = [syllable(rng, place == count) for place in range(1, count + 1)]
    ending = "" if parts[-1][0].endswith("e") else rng.choice(["", "", "", *WORD_ENDINGS])
    spelt = "".join(part for part, _ in parts) + ending
    sounds = " ".join([*(phonemes for _, phonemes in parts), WORD_ENDINGS[ending]]).split()
    once = [a for a, b in pairwise([*sounds, ""]) if a != b]  # repeated phonemes merge
    return spelt, " ".join(once)


def words(count: int = 20_000, seed: int = 1) -> str:
    """A TSV file of distinct spellings and phonemes."""
    rng, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        spelt, sounds = word(rng)
        found.setdefault(spelt, sounds)
    return "".join(f"{spelt}\t{sounds}\n" for spelt, sounds in sorted(found.items()))


SPELT = ExampleData(
    "made", "Words made by rules of spelling: no pronouncing dictionary is installed.", words
)
