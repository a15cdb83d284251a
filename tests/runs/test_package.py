"""A run as one file, and under another name: what the commands export and rename do."""

import json
import math
import zipfile

import pytest
import safetensors.numpy

import seqloom
from seqloom.cli.main import main
from seqloom.data.formats.parallel_names import files_of
from seqloom.recipe import Recipe
from seqloom.training.files import locked

from ..conftest import write_data

TEXT = "the cat"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with two runs, from which commands are given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEQLOOM_RUNS", raising=False)
    write_data(tmp_path)
    for name in ("counts", "other"):
        recipe = Recipe(data={"train": "text.txt"}, task={"name": "language"}).with_model("ngram")
        seqloom.train(recipe, name=name)
    return tmp_path


def test_an_unpacked_run_answers_as_the_one_that_was_packed(here, capsys):
    assert main(["export", "counts", "-o", "m.zip", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["to"] == "zip" and told["from"] == "counts" and len(told["sha256"]) == 64
    with zipfile.ZipFile(here / "m.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        archive.extractall(here / "elsewhere")
    inside = ["recipe.toml", "task.json", "weights.safetensors", "events.jsonl", "card.md"]
    inside.append("split.safetensors")
    assert names == [f"counts/{name}" for name in inside]
    assert str(here) not in (here / "elsewhere/counts/recipe.toml").read_text(), "our own folders"
    old, new = seqloom.load("counts"), seqloom.load(here / "elsewhere" / "counts")
    (was,), (now,) = old.score([TEXT]), new.score([TEXT])
    assert now.log_probs.tolist() == was.log_probs.tolist()
    assert main(["export", "counts", "-o", "again.zip"]) == 0
    assert (here / "again.zip").read_bytes() == (here / "m.zip").read_bytes()


def test_what_was_exported_is_a_run_again(here, capsys):
    assert main(["export", "counts", "-o", "m.zip"]) == 0
    assert main(["import", "m.zip"]) == 2 and "error[U009]" in capsys.readouterr().err
    assert main(["import", "m.zip", "--name", "given"]) == 0
    (was,), (now,) = seqloom.load("counts").score([TEXT]), seqloom.load("given").score([TEXT])
    assert now.log_probs.tolist() == was.log_probs.tolist()
    assert sorted(path.name for path in (here / "runs").iterdir()) == ["counts", "given", "other"]


@pytest.mark.parametrize("file", ["/etc/passwd", "../../text.txt", "/etc/{passwd,group}"])
def test_an_imported_run_names_no_file_of_this_machine(here, file):
    """What a recipe names the studio takes for the owner's choice and reads."""
    assert main(["export", "counts", "-o", "m.zip"]) == 0
    with zipfile.ZipFile(here / "m.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    own = b'train = "text.txt"'
    assert own in parts["counts/recipe.toml"]
    with zipfile.ZipFile(here / "m.zip", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(own, f'train = "{file}"'.encode()))
    assert main(["import", "m.zip", "--name", "given"]) == 0
    found = files_of(Recipe.read(here / "runs/given/recipe.toml").data["train"])
    assert {path.parent for path in found} == {here / "runs/given"}


def hostile(parts):
    """Archives that are no run: what each has, and what is said of it."""
    weights = parts["counts/weights.safetensors"]
    recipe = parts["counts/recipe.toml"].replace(b'"ngram"', b'"evil.py:Model"')
    yield parts | {"../evil.txt": b"x"}, "evil.txt"
    yield parts | {"/evil.txt": b"x"}, "evil.txt"
    yield parts | {"counts/evil.py": b"x"}, "evil.py"
    yield parts | {"two/recipe.toml": b"x"}, "two/recipe.toml"
    yield {name: content for name, content in parts.items() if "task" not in name}, "task.json"
    yield parts | {"counts/weights.safetensors": weights[: len(weights) // 2]}, "weights"
    yield parts | {"counts/task.json": b"[" * 100_000}, "task.json"
    yield parts | {"counts/recipe.toml": recipe}, "evil.py"
    for line in (
        b"null",
        b'{"kind": "train", "step": "2"}',
        b'{"kind": "eval", "step": 1, "t": []}',
    ):
        yield parts | {"counts/events.jsonl": b"incomplete\n" + line}, "line 2 of events.jsonl"
    yield parts | {"counts/events.jsonl": bytes(65 << 20)}, "too large"
    yield parts | {"counts/recipe.toml": b"#" * (2 << 20)}, "recipe.toml in it is too large"
    nested = b'{"fingerprint": {}, "codecs": {"vocabulary": [%s[]]}}'
    yield (
        parts | {"counts/task.json": nested % (b"[]," * 3_000_000)},
        "task.json in it is too large",
    )
    task = json.loads(parts["counts/task.json"])
    for wrong in ([], {}, "text", 7, None, True, [1, 2], ["a"], {"a": "b"}, [*range(9)], [[]]):
        codecs = dict.fromkeys(task["codecs"], wrong)
        yield (
            parts | {"counts/task.json": json.dumps(task | {"codecs": codecs}).encode()},
            "task.json",
        )
    yield parts | {"counts/task.json": json.dumps(task | {"codecs": {}}).encode()}, "task.json"
    yield parts | {"counts/weights.safetensors": no_numbers(weights)}, "not a number"


def no_numbers(content):
    """Weights of which one is NaN."""
    arrays = safetensors.numpy.load(content)
    name = next(name for name, array in arrays.items() if array.dtype.kind == "f")
    arrays[name].reshape(-1)[-1] = math.nan
    return safetensors.numpy.save(arrays)


def test_what_is_no_run_leaves_nothing_behind(here, capsys):
    assert main(["export", "counts", "-o", "m.zip"]) == 0
    with zipfile.ZipFile(here / "m.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (here / "evil.py").write_text("raise SystemExit('this code was run')")
    for changed, word in hostile(parts):
        with zipfile.ZipFile(here / "bad.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in changed.items():
                archive.writestr(name, content)
        assert main(["import", "bad.zip", "--name", "bad"]) == 2, word
        told = capsys.readouterr().err
        assert "error[U052]" in told and word in told
    whole = (here / "m.zip").read_bytes()
    place = whole.index(b"counts/recipe.toml") + 60  # inside of what is packed
    for damaged in (b"", whole[:-30], whole[:place] + b"\xff" * 20 + whole[place + 20 :]):
        (here / "bad.zip").write_bytes(damaged)
        assert main(["import", "bad.zip", "--name", "bad"]) == 2
        assert "error[U052]" in capsys.readouterr().err
    for missing in ("none.zip", "runs"):
        assert main(["import", missing]) == 2
        assert "error[U008]" in capsys.readouterr().err
    assert sorted(path.name for path in (here / "runs").iterdir()) == ["counts", "other"]
    assert not (here.parent / "evil.txt").exists()


def test_what_cannot_be_packed_is_told_and_leaves_nothing(here, capsys):
    (here / "there.zip").touch()
    for words, code in (
        (["counts", "-o", "there.zip"], "U051"),
        (["counts", "-o", "folder"], "U001"),
        (["none", "-o", "m.zip"], "U008"),
        (["counts", "-o", "nowhere/m.zip"], "E320"),
    ):
        assert main(["export", *words]) != 0
        assert f"error[{code}]" in capsys.readouterr().err, words
    (here / "runs/counts/weights.safetensors").unlink()
    assert main(["export", "counts", "-o", "there.zip", "--force"]) == 4
    assert "error[M113]" in capsys.readouterr().err
    assert sorted(path.name for path in here.glob("*zip*")) == ["there.zip"]
    assert (here / "there.zip").stat().st_size == 0, "what was there is not lost"


def test_a_run_has_another_name(here, capsys):
    assert main(["rename", "counts", "better"]) == 0
    assert capsys.readouterr().out.strip() == "runs/better"
    assert not (here / "runs/counts").exists()
    assert (here / "runs/better/card.md").read_text().startswith("# better\n\nModel ngram")
    assert seqloom.load("better").name == "better"


@pytest.mark.parametrize("name", ["", "Not A Name", "../out", "a" * 65, "other", "empty"])
def test_a_name_that_cannot_be_changes_nothing(here, capsys, name):
    (here / "runs/empty").mkdir()
    assert main(["rename", "--", "counts", name]) == 2
    assert "error[U009]" in capsys.readouterr().err
    assert seqloom.load("counts").name == "counts" and not (here / "out").exists()
    assert list((here / "runs/empty").iterdir()) == []


def test_a_run_that_is_trained_keeps_its_name(here, capsys):
    with locked(here / "runs/counts"):
        assert main(["rename", "counts", "better"]) != 0
    assert "error[T121]" in capsys.readouterr().err
    assert (here / "runs/counts").exists()
