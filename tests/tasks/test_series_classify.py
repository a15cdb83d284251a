"""Labels of series: files, scaling, what is judged, and what is refused with a sentence."""

import json

import numpy as np
import pytest

import seqloom
from seqloom.data.formats.base import JoinedPrediction
from seqloom.data.options import Data
from seqloom.errors import DataError, UsageError
from seqloom.signature import Form
from seqloom.tasks.series_classification import SeriesClassify


def written(folder, *items, name="waves.jsonl"):
    (folder / name).write_text("".join(json.dumps(item) + "\n" for item in items))
    return folder / name


def read(path, **options):
    task = SeriesClassify(**options)
    examples = task.read(path, Data())
    task.prepare(examples)
    return task, examples


def test_ts_files_have_labels_and_numbers_that_are_missing(tmp_path):
    file = tmp_path / "two.ts"
    file.write_text("@classLabel true a b\n@data\n1,2,?:4,5,6:a\n7,8:9,10:b\n")
    task, (one, two) = read(file)
    assert (one.labels, two.labels) == (("a",), ("b",))
    np.testing.assert_array_equal(one.values, [[1, 4], [2, 5], [np.nan, 6]])
    item = task.encode(one)
    scaled = (one.values - [4.5, 6.8]) / [np.std([1, 2, 7, 8]), np.std([4, 5, 6, 9, 10])]
    np.testing.assert_allclose(item.source, scaled)
    assert item.target.tolist() == [0] and task.decode([1]) == "b"


def test_counts_can_be_read_as_they_are(tmp_path):
    file = written(tmp_path, *({"values": [n, n + 1], "label": str(n % 2)} for n in range(4)))
    task, examples = read(file, scaling="none")
    assert task.encode(examples[2]).source.tolist() == [[2], [3]]


def test_each_step_has_a_label_and_long_series_are_cut(tmp_path):
    file = tmp_path / "steps.csv"
    rows = [f"{n},{n % 5},{'high' if n % 5 > 2 else 'low'}" for n in range(1, 26)]
    file.write_text("step,level,state\n" + "\n".join(rows) + "\n")
    task = SeriesClassify(each=True, piece=10)
    examples = task.read(file, Data(columns="time=step,value=level,label=state"))
    task.prepare(examples)
    assert task.form is Form.EACH and [len(e.values) for e in examples] == [10, 10, 5]
    right = task.reference(examples[0])
    assert right == ["low", "low", "high", "high", "low"] * 2
    chances = np.tile([0.25, 0.75], (10, 1))
    sure = [one[2] for one in task.label_decisions(examples[0], right, chances).decisions]
    assert sure == [0.75 if label == "low" else 0.25 for label in right]
    assert task.details(examples[0], right, None)["times"][0] == "1"


def test_what_is_judged_and_shown(tmp_path):
    items = [{"values": [n, n], "label": label} for n, label in enumerate("aab")]
    task, examples = read(written(tmp_path, *items))
    values = task.score(examples[0], "b", 2.0)
    assert list(values) == ["accuracy", "macro_f1", "loss"]
    assert values["accuracy"].top == 0 and values["loss"].top == 2
    assert task.show_with_probabilities("a", [[0.9, 0.1]]) == "a 90 %   (b 10 %)"
    assert task.labels_of(examples[2]) == ["b"] and task.stratum(examples[2]) == "b"


REFUSED = {
    "D251": ([{"values": [1, 2]}, {"values": [2, 3], "label": "a"}], {}),
    "D252": ([{"values": [1, 2], "labels": ["a", "b"]}], {}),
    "D253": ([{"values": [1, 2], "label": "a"}, {"values": [2, 2], "label": "a"}], {}),
}


@pytest.mark.parametrize("code", REFUSED)
def test_files_that_nothing_can_be_learned_from(code, tmp_path):
    items, options = REFUSED[code]
    with pytest.raises(DataError) as told:
        read(written(tmp_path, *items), **options)
    assert told.value.code == code


def test_one_label_where_each_step_should_have_one(tmp_path):
    with pytest.raises(DataError, match=r"task\.each=false"):
        read(written(tmp_path, {"values": [1, 2], "label": "a"}), each=True)


def test_a_series_of_another_width_is_refused(tmp_path):
    items = [{"values": [[n, 1], [n, 2]], "label": str(n % 2)} for n in range(4)]
    task, _ = read(written(tmp_path, *items))
    for text in ("1 2 3", "1 2; 3"):
        with pytest.raises(DataError, match="D224"):
            task.question(text)
    narrow = written(tmp_path, {"values": [1, 2], "label": "0"}, name="narrow.jsonl")
    with pytest.raises(DataError, match="D250"):
        task.read(narrow, Data())
    with pytest.raises(DataError, match="D250"):
        task.encode_value("1 2 3")
    with pytest.raises(DataError, match="D224"):
        task.question("1 x; 2 3")


def joined(*labels, sure=0.5):
    return JoinedPrediction(" ".join(labels), list(labels), [sure] * len(labels))


def test_series_without_labels_are_joined_to_their_rows(tmp_path):
    train = written(tmp_path, *({"values": [n, n + 1], "label": str(n % 2)} for n in range(4)))
    task, _ = read(train)
    answers = [JoinedPrediction("0", "0", 0.75), JoinedPrediction("1", "1", 0.5)]
    file = task.inputs(written(tmp_path, {"id": 7, "values": [1, 2]}, {"values": [3, 4]}), Data())
    assert [one.values.ravel().tolist() for one in file.examples] == [[1, 2], [3, 4]]
    assert [json.loads(line) for line in file.write(answers)] == [
        {"id": 7, "values": [1, 2], "prediction": "0", "probability": 0.75},
        {"values": [3, 4], "prediction": "1", "probability": 0.5},
    ]
    (tmp_path / "rows.csv").write_text("name,v1,v2,v3\na,1,2,3\nb,4,5,6\n")
    file = task.inputs(tmp_path / "rows.csv", Data(columns="id=name,label=class"))
    assert list(file.write(answers)) == [
        "name,v1,v2,v3,prediction,probability", "a,1,2,3,0,0.75", "b,4,5,6,1,0.5"
    ]  # fmt: skip
    (tmp_path / "long.csv").write_text("id,step,x\na,1,5\na,2,6\nb,1,7\nb,2,8\n")
    file = task.inputs(tmp_path / "long.csv", Data())
    assert list(file.write(answers)) == ["series,prediction,probability", "a,0,0.75", "b,1,0.5"]
    assert task.inputs(tmp_path / "typed.txt", Data()) is None
    (tmp_path / "wide.csv").write_text("step,x,y\n1,5,6\n2,7,8\n")
    with pytest.raises(DataError, match="D250"):
        task.inputs(tmp_path / "wide.csv", Data())


def test_each_step_is_joined_to_its_row(tmp_path):
    rows = [f"{n},{n % 5},{'high' if n % 5 > 2 else 'low'}" for n in range(1, 26)]
    (tmp_path / "steps.csv").write_text("step,level,state\n" + "\n".join(rows) + "\n")
    task = SeriesClassify(each=True, piece=2)
    columns = Data(columns="time=step,value=level,label=state")
    task.prepare(task.read(tmp_path / "steps.csv", columns))
    (tmp_path / "new.csv").write_text("step,level\n4,1\n5,4\n6,2\n")
    file = task.inputs(tmp_path / "new.csv", columns)
    assert [len(one.values) for one in file.examples] == [2, 1]
    answers = [joined("low", "high"), joined("low", sure=0.25)]
    assert list(file.write(answers)) == [
        "step,level,prediction,probability", "4,1,low,0.5", "5,4,high,0.5", "6,2,low,0.25"
    ]  # fmt: skip
    (tmp_path / "gap.csv").write_text("step,level\n4,1\n6,4\n7,1\n")
    file = task.inputs(tmp_path / "gap.csv", columns)
    assert list(file.write([joined("low", "low"), joined("high", "low")]))[:4] == [
        "series,time,prediction,probability", ",4,low,0.5", ",5,low,0.5", ",6,high,0.5"
    ]  # fmt: skip


def test_a_piece_below_nothing():
    with pytest.raises(UsageError, match="U310"):
        SeriesClassify(piece=-1)


def test_a_run_streams_labels(tmp_path):
    """After each step the label of the series so far; the run is loaded from its folder."""
    rising = [
        {"values": [*range(8)], "label": "up"},
        {"values": [*range(8, 0, -1)], "label": "down"},
    ]
    items = [
        {**one, "values": [v + n / 9 for v in one["values"]]} for n in range(20) for one in rising
    ]
    settings = {"model.left_to_right": True, "model.states": 2, "data.valid_fraction": 0.2}
    run = seqloom.train(
        "series-classify", written(tmp_path, *items), model="gaussian-hmm",
        runs=tmp_path / "runs", settings=settings | {"data.test_fraction": 0.2},
    )  # fmt: skip
    again = seqloom.load(run.folder)
    stream = again.stream()
    told = [stream.step([value]).value for value in (7.5, 7, 6, 5, 4, 2, 1, 0)]
    assert told[-1] == "down" == again.predict(["7.5 7 6 5 4 2 1 0"])[0]
