"""Words that nobody knows, spelt by rules that look at their neighbours, with their sounds.

C is soft before e, i and y; an e at the end is silent and makes the vowel before it long; two
letters can be one sound. That is much of what makes English hard to read aloud.
"""

import random
from itertools import pairwise

from .example import Material

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
ENDINGS = {"": "", "ing": "IH NG", "er": "ER", "tion": "SH AH N", "ly": "L IY", "y": "IY"}


def syllable(chance: random.Random, is_last: bool) -> tuple[str, str]:
    """How it is spelt, and how it sounds."""
    onset, heard = chance.choice([*ONSETS.items()])
    kind = chance.random()
    if is_last and kind < 0.25:  # name, mice, huge: the e is silent
        vowel, sound = chance.choice([*LONG.items()])
        coda, end = chance.choice([*LENGTHENED.items()])
        spelt, after = f"{vowel}{coda}e", f"{sound} {end}"
    elif kind < 0.55:
        vowel, sound = chance.choice([*PAIRS.items()])
        coda, end = chance.choice([*CODAS.items()])
        spelt, after = vowel + coda, f"{sound} {end}"
    else:
        vowel, sound = chance.choice([*SHORT.items()])
        coda, end = chance.choice([*CODAS.items()])
        spelt, after = vowel + coda, f"{sound} {end}"
    is_soft = onset == "c" and spelt[0] in "ei"
    return onset + spelt, f"{'S' if is_soft else heard} {after}"


def word(chance: random.Random) -> tuple[str, str]:
    """One to three syllables, some with an ending."""
    count = chance.choice([1, 2, 2, 2, 3])
    parts = [syllable(chance, place == count) for place in range(1, count + 1)]
    ending = "" if parts[-1][0].endswith("e") else chance.choice(["", "", "", *ENDINGS])
    spelt = "".join(part for part, _ in parts) + ending
    sounds = " ".join([*(heard for _, heard in parts), ENDINGS[ending]]).split()
    once = [a for a, b in pairwise([*sounds, ""]) if a != b]  # a sound is not said twice
    return spelt, " ".join(once)


def words(count: int = 20_000, seed: int = 1) -> str:
    """A file of spellings and sounds, each spelling once."""
    chance, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        spelt, sounds = word(chance)
        found.setdefault(spelt, sounds)
    return "".join(f"{spelt}\t{sounds}\n" for spelt, sounds in sorted(found.items()))


SPELT = Material(
    "made", "Words made by rules of spelling: no pronouncing dictionary is installed.", words
)
