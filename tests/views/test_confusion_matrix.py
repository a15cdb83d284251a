"""Confusion matrix and reliability diagram: their numbers, their captions, and their forms."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from seqloom.views import CalibrationBin, ConfusionMatrixView, ReliabilityView
from seqloom.views.confusion_matrix import MAX_LABELS, OTHERS

COUNTS = [[8, 2, 0], [1, 5, 4], [0, 0, 0]]
BINS = [
    CalibrationBin(0.5, 0.6, 0, 0.0, 0.0),
    CalibrationBin(0.6, 0.7, 10, 0.65, 0.4),
    CalibrationBin(0.9, 1.0, 30, 0.97, 0.9),
]


@pytest.fixture(params=["confusion", "reliability"])
def view(request):
    if request.param == "confusion":
        return ConfusionMatrixView(["a", "böse <b>", ""], COUNTS, "judge")
    return ReliabilityView(BINS, 0.1, "judge")


def test_every_form_can_be_had(view, tmp_path):
    for suffix in ("svg", "png", "html", "json"):
        file = view.save(tmp_path / f"x.{suffix}")
        assert file.stat().st_size > 100
    ElementTree.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["view"] == view.kind
    assert "<script" not in view.to_html()


@pytest.mark.parametrize("width", [12, 40, 100])
def test_text_fits_and_can_be_ascii(view, width):
    plain = view.to_text(width, ascii=True)
    assert plain.isascii()
    assert all(len(line) <= width for line in plain.split("\n"))


def test_the_most_frequent_error_is_named():
    view = ConfusionMatrixView(["a", "b", ""], COUNTS, "judge")
    assert view.caption == (
        '13 of 20 are correct (65.0 %). Most frequent error: "b" predicted as "(none)" (4 of 10, 40.0 %).'
    )
    assert view.to_json()["counts"] == COUNTS and view.to_table()[1][1:] == ["8", "2", "0"]
    figures = [text for text in view.to_svg().split("<text") if ">8<" in text]
    assert len(figures) == 1
    assert ConfusionMatrixView(["a"], [[3]], "judge").caption == "3 of 3 are correct (100.00 %)."
    assert "no predictions" in ConfusionMatrixView([], np.zeros((0, 0)), "judge").caption


def test_of_many_labels_those_with_the_most_errors_are_drawn():
    counts = np.diag(np.arange(1, 101))
    counts[70, 3], counts[4, 99] = 50, 7
    view = ConfusionMatrixView([f"label {n}" for n in range(100)], counts, "judge")
    assert len(view.drawn_labels) == MAX_LABELS and view.drawn_labels[-1] == OTHERS
    assert {"label 70", "label 3", "label 4", "label 99"} <= set(view.drawn_labels)
    assert view.cells.sum() == counts.sum() and view.cells.shape == (MAX_LABELS, MAX_LABELS)
    assert len(view.to_json()["labels"]) == 100
    assert view.drawn_notes == (f"61 labels with the fewest errors are drawn as one, {OTHERS}.",)


@pytest.mark.parametrize("accuracy, words", [
    (0.5, "Overconfident: mean confidence 80.0 %, accuracy 50.0 %"),
    (0.95, "Underconfident"),
    (0.805, "is within a point of the accuracy, 80.5 %"),
])  # fmt: skip
def test_the_caption_says_which_way_confidence_errs(accuracy, words):
    view = ReliabilityView(
        [CalibrationBin(0.8, 0.9, 20, 0.8, accuracy)], abs(0.8 - accuracy), "judge"
    )
    assert words in view.caption


def test_without_predictions_there_is_no_picture():
    with pytest.raises(ValueError):
        ReliabilityView([CalibrationBin(0.0, 0.1, 0, 0.0, 0.0)], 0.0, "judge")
    with pytest.raises(ValueError):
        ConfusionMatrixView(["a"], COUNTS, "judge")
