"""Hymns in four parts, made by rules: chords that follow one another, voices that move little."""

import json
import random
from functools import lru_cache
from itertools import product

from .example import Material

FOLLOWS = {  # which degrees of the scale a chord may lead to
    1: (1, 4, 4, 5, 5, 6, 2), 2: (5, 5, 7), 3: (6, 4), 4: (5, 5, 1, 2), 5: (1, 1, 1, 6),
    6: (2, 4, 4, 5), 7: (1,),
}  # fmt: skip
MAJOR, MINOR = (0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 11)
RANGES = ((41, 58), (50, 66), (55, 71), (62, 79))  # bass, tenor, alto, soprano
Chord = tuple[int, ...]


@lru_cache(maxsize=256)
def voicings(tones: tuple[int, ...]) -> list[Chord]:
    """Every way to sing a chord: the root below, no parts crossed, all tones there."""
    places = [[p for p in range(low, high + 1) if p % 12 in tones] for low, high in RANGES]
    places[0] = [pitch for pitch in places[0] if pitch % 12 == tones[0]]
    return [
        chord
        for chord in product(*places)
        if list(chord) == sorted(set(chord)) and {p % 12 for p in chord} == set(tones)
    ]


def piece(chance: random.Random) -> list[list[int]]:
    """A hymn of a few phrases, each of eight steps, the last of them held."""
    tonic, scale = chance.randrange(12), chance.choice([MAJOR, MAJOR, MINOR])
    chords: dict[int, list[Chord]] = {}
    for degree in FOLLOWS:
        tones = ((tonic + scale[(degree - 1 + third) % 7]) % 12 for third in (0, 2, 4))
        chords[degree] = voicings(tuple(tones))
    now, degree, found = chance.choice(chords[1]), 1, list[list[int]]()
    for _ in range(chance.choice([3, 4, 5])):
        for place in range(7):
            degree = 5 if place == 5 else 1 if place == 6 else chance.choice(FOLLOWS[degree])
            moves = [(_moved(now, other), other) for other in chords[degree]]
            now = chance.choice([other for _, other in sorted(moves)[:2]])
            found.append(list(now))
        found.append(list(now))
    return found


def _moved(now: Chord, after: Chord) -> float:
    """How far the voices go; the bass may leap."""
    return sum(
        abs(a - b) * (0.3 if not n else 1) for n, (a, b) in enumerate(zip(now, after, strict=True))
    )


def hymns(count: int = 240, seed: int = 1) -> str:
    """A file of pieces, one on each line."""
    chance = random.Random(seed)
    lines = [json.dumps(piece(chance)) for _ in range(count)]
    return "\n".join(lines) + "\n"


HYMNS = Material(
    "made", "Hymns made by rules of harmony: Bach's chorales are not on this machine.", hymns
)
