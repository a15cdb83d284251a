"""seqloom compose: generated music as MIDI, JSON and piano roll; seqloom check on music."""

import json
import re

from seqloom.data.music.midi import read_midi
from seqloom.data.options import Data
from seqloom.tasks.music import Music


def test_a_piece_is_written_and_sketched(cli, tmp_path):
    file, picture = tmp_path / "piece.mid", tmp_path / "roll.svg"
    done = cli("compose", "player", "-o", str(file), "--picture", str(picture), "--steps", "12")
    assert done.code == 0 and "12 steps" in done.out and str(file) in done.err
    assert len(read_midi(file.read_bytes(), 4)) == 12
    assert picture.read_text().startswith("<svg")
    again = cli("compose", "player", "--steps", "12", "--json")
    found = json.loads(again.out)
    assert [tuple(frame) for frame in found["frames"]] == read_midi(file.read_bytes(), 4)


def test_bars_have_four_quarters_and_prompts_go_first(cli, files, tmp_path):
    prompt = str(files / "pieces.json")
    args = ["--prompt", prompt, "--prompt-steps", "3", "--bars", "2", "--temperature", "0.9"]
    found = json.loads(cli("compose", "player", *args, "--json").out)
    assert len(found["frames"]) == 3 + 2 * 4 * 4 and found["given"] == 3
    first = Music().read(files / "pieces.json", Data())[0].frames
    assert [tuple(frame) for frame in found["frames"][:3]] == first[:3]


def test_quietly_the_paths_alone_are_told(cli, tmp_path):
    done = cli("compose", "player", "-q", "-o", str(tmp_path / "piece.json"))
    assert done.out == f"{tmp_path / 'piece.json'}\n"
    assert len(Music().read(tmp_path / "piece.json", Data())[0].frames) == 64


def test_mistakes_are_told(cli, files, tmp_path):
    (tmp_path / "bad.mid").write_bytes(b"RIFF")
    for arguments, code in (
        (["writer"], "M110"),
        (["player", "--bars", "2", "--steps", "3"], "U334"),
        (["player", "--bars", "0"], "U010"),
        (["player", "--prompt-steps", "0"], "U010"),
        (["player", "--temperature", "-1"], "U332"),
        (["player", "-o", "piece.wav"], "U333"),
        (["player", "--picture", str(tmp_path / "roll.bmp")], "U011"),
        (["player", "--prompt", str(tmp_path / "bad.mid")], "D268"),
        (["player", "--prompt", str(files / "text.txt")], "D265"),
        (["player", "--prompt", str(tmp_path / "none.mid")], "D001"),
    ):
        done = cli("compose", *arguments)
        assert done.code != 0 and f"error[{code}]" in done.err, (arguments, done.err, re.M)


def test_other_commands_send_players_to_compose(cli):
    for command in ("generate", "score"):
        done = cli(command, "player", "60 62")
        assert "error[M110]" in done.err and re.search(
            r"help: seqloom compose \S+/player$", done.err
        )
    assert "error[M480]" in cli("predict", "player", "60 62").err


def test_evaluate_and_show_and_compare(cli, files):
    found = json.loads(cli("evaluate", "player", str(files / "pieces.json"), "--json").out)
    assert next(iter(found["metrics"])) == "nats_per_frame"
    assert cli("show", "player").code == 0
    assert cli("compare", "player", "player").code in {0, 2}


def test_check_knows_music_by_its_lists_and_by_its_name(cli, files, tmp_path):
    done = cli("check", str(files / "pieces.json"), "--json")
    found = json.loads(done.out)
    assert (found["task"], found["counts"]["pieces"]) == ("music", 28)
    assert found["next"].startswith("seqloom train music")
    folder = tmp_path / "songs"
    folder.mkdir()
    cli("compose", "player", "-q", "-o", str(folder / "piece.mid"))
    assert json.loads(cli("check", str(folder), "--json").out)["task"] == "music"
    assert json.loads(cli("check", str(folder / "piece.mid"), "--json").out)["task"] == "music"
    (folder / "bad.mid").write_bytes(b"MThd")
    done = cli("check", str(folder))
    assert "D268" in done.out + done.err
