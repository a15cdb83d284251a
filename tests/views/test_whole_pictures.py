"""Pictures of random views: nothing leaves the page, words do not lie on each other, none is missing."""

import numpy as np
import pytest

from seqloom.views import LadderView, RungPoint
from seqloom.views.beam import BeamNode, BeamView, DecodedText
from seqloom.views.draw.colours import PAGE
from seqloom.views.draw.svg import Circle, Line, Polygon, Polyline, Rectangle, TextLine
from tests.views.test_sentences import MAKERS

SEEDS = range(6)
every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)


def words_box(line):
    """Left, top, right and bottom of a line of text that is not turned."""
    width, (x, y) = line.style.length(line.text), line.position
    left = x - {"start": 0, "middle": width / 2, "end": width}[line.style.anchor]
    return left, y - 0.75 * line.style.size, left + width, y + 0.2 * line.style.size


def box_of(shape):
    match shape:
        case Rectangle():
            left, top, width, height = shape.box
            return left, top, left + width, top + height
        case TextLine():
            return words_box(shape)
        case Circle():
            (x, y), r = shape.centre, shape.radius
            return x - r, y - r, x + r, y + r
        case Line():
            points = [shape.start, shape.end]
        case Polyline() | Polygon():
            points = shape.points
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def lines_of(picture):
    return [
        one
        for one in picture.shapes
        if isinstance(one, TextLine) and one.text.strip() and not one.style.rotation
    ]


@every_maker
def test_nothing_leaves_the_page(maker):
    """With two pixels for the thickness of lines and what letters are wider than reckoned."""
    for seed in SEEDS:
        picture = maker(np.random.default_rng(seed)).to_picture()
        for shape in picture.shapes:
            if isinstance(shape, TextLine) and shape.style.rotation:
                continue
            left, top, right, bottom = box_of(shape)
            assert left >= -2 and top >= -2, (seed, shape)
            assert right <= picture.width + 2 and bottom <= picture.height + 2, (seed, shape)


@every_maker
def test_words_do_not_lie_on_each_other(maker):
    for seed in SEEDS:
        lines = lines_of(maker(np.random.default_rng(seed)).to_picture())
        boxes = np.array([words_box(line) for line in lines])
        left, top, right, bottom = boxes.T
        across = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
        down = np.minimum(bottom[:, None], bottom) - np.maximum(top[:, None], top)
        size = np.minimum(right - left, 20)
        is_on = (across > 0.35 * np.minimum(size[:, None], size)) & (down > 4)
        one, other = np.nonzero(np.triu(is_on, 1))
        assert not len(one), (seed, lines[one[0]], lines[other[0]])


@every_maker
def test_a_picture_says_all_that_is_to_be_said(maker):
    """The model, the whole caption and every note, word by word in their order."""
    for seed in SEEDS:
        view = maker(np.random.default_rng(seed))
        picture = view.to_picture()
        told = " ".join(line.text for line in lines_of(picture)).split()
        for sentence in (view.caption, *view.notes):
            wanted = sentence.split()
            starts = [n for n, word in enumerate(told) if word.strip(";") == wanted[0].strip(";")]
            found = [[w.strip(";.") for w in told[n : n + len(wanted)]] for n in starts]
            assert [w.strip(";.") for w in wanted] in found, (seed, sentence)
        assert picture.label == view.caption


LEGENDS = {"heads": "attention weight", "attention": "attention weight", "cell": "activation"}
LEGENDS |= {"surprise": "8 or more", "trellis": "smoothed probability of the state"}


@pytest.mark.parametrize(
    "maker", [m for m in MAKERS if m.__name__ in LEGENDS], ids=lambda m: m.__name__
)
def test_colours_have_a_legend(maker):
    for seed in SEEDS:
        told = [line.text for line in lines_of(maker(np.random.default_rng(seed)).to_picture())]
        assert any(LEGENDS[maker.__name__] in text for text in told[2:]), seed


def tree(rng):
    """A search of some steps: of each step's nodes some grow on, and two of the last have ended."""
    nodes, growing = [], [-1]
    for step in range(int(rng.integers(1, 6))):
        made = range(len(nodes), len(nodes) + int(rng.integers(2, 5)))
        for _ in made:
            parent = int(rng.choice(growing))
            nodes.append(BeamNode(parent, step, f"t{len(nodes)}", -float(step), "grows", "grows"))
        growing = [int(n) for n in rng.choice(made, 2, replace=False)]
    text = DecodedText("out", -1.0)
    return BeamView(["a"], nodes, growing, [text, text], text, "m", beam=2)


def test_the_path_of_the_best_output_is_thick():
    """Lines between its nodes, and their ground; all others are thin."""
    for seed in SEEDS:
        view = tree(np.random.default_rng(seed))
        shapes = view.to_picture().shapes
        lines = [one for one in shapes if isinstance(one, Line)]
        boxes = [one for one in shapes if isinstance(one, Rectangle) and one.title]
        best = set(view.path(view.final_nodes[0]))
        assert len(boxes) == len(view.nodes)
        assert sum(one.thickness == 3 for one in lines) == len(best) - 1
        assert len(lines) == sum(node.parent >= 0 for node in view.nodes)
        grounds = {box.title.split(":")[0]: box.fill for box in boxes}
        colours = [{grounds[f"t{n}"] for n in range(len(view.nodes)) if (n in best) == is_best}
                   for is_best in (True, False)]  # fmt: skip
        assert len(colours[0]) == 1 and colours[0] != {PAGE} and colours[1] <= {PAGE}


def test_names_of_a_ladder_stand_beside_their_points():
    rungs = [RungPoint(f"rung {n}", 10.0**n, 5.0 - n, 4.9 - n, 5.1 - n) for n in range(4)]
    picture = LadderView(rungs, "bits", True, "m").to_picture()
    points = [one for one in picture.shapes if isinstance(one, Rectangle) and one.title]
    for rung in rungs:
        (point,) = [one for one in points if one.title.startswith(f"{rung.name}:")]
        (line,) = [one for one in lines_of(picture) if one.text == rung.name]
        left, top, width, height = point.box
        assert left < line.position[0] < left + width + 30
        assert line.position[1] == pytest.approx(top + height / 2, abs=8)
