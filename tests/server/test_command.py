"""`seqloom studio`: its output, its errors, and its shutdown."""

import json
import socket
import subprocess
import sys

from seqloom.cli.main import main

from .conftest import serving


def test_a_taken_port_is_told_with_a_free_one(tmp_path, capsys, server):
    port = int(server.address.rsplit(":", 1)[1])
    code = main(["studio", "--port", str(port), "--no-browser", "--runs", str(tmp_path)])
    said = capsys.readouterr().err
    assert code == 7 and "error[S201]" in said
    assert f"It is a studio: open http://127.0.0.1:{port}/" in said
    free = int(said.split("--port ")[1].split()[0])
    assert port < free < port + 20


def test_another_program_on_the_port_is_no_studio(tmp_path, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code = main(["studio", "--port", str(other.getsockname()[1]), "--runs", str(tmp_path)])
    said = capsys.readouterr().err
    assert code == 7 and "S201" in said and "It is a studio" not in said


def test_beyond_this_computer_a_token_is_needed(tmp_path, capsys):
    for host in ("0.0.0.0", "::", "192.168.1.7"):
        assert main(["studio", "--host", host, "--runs", str(tmp_path)]) == 7
        said = capsys.readouterr().err
        assert "error[S210]" in said and f"--host {host} --token auto" in said


def test_an_address_or_port_that_cannot_be(tmp_path, capsys):
    for arguments in (["--port", "99999"], ["--host", "nowhere.invalid", "--token", "auto"]):
        assert main(["studio", *arguments, "--runs", str(tmp_path)]) == 7
        assert "error[S202]" in capsys.readouterr().err


def test_it_says_where_it_is_and_ends_with_ctrl_c(tmp_path):
    with serving(tmp_path / "runs", "--token", "auto", "--host", "0.0.0.0") as found:
        assert found.address.startswith("http://127.0.0.1:") and len(found.token) > 20
        assert found.get("/").status_code == 401
        assert found.get("/healthz").json() == {"status": "ok"}
        code, said = found.stop()
    assert code == 0 and said == "Stopped.\n"


def test_nothing_heavy_is_loaded_before_it_is_needed(trained):
    program = (
        "import sys; from pathlib import Path\n"
        "from starlette.testclient import TestClient\n"
        "from seqloom.server.app import make_app\n"
        "from seqloom.server.options import ServerSettings\n"
        f"app, _ = make_app(ServerSettings(Path({str(trained)!r})))\n"
        "with TestClient(app, base_url='http://127.0.0.1') as web:\n"
        "    for path in ('', 'api/v1/runs', 'api/v1/status', 'api/v1/runs/writer',"
        " 'api/v1/models', 'api/v1/tasks', 'api/v1/examples', 'api/v1/datasets'):\n"
        "        assert web.get(f'/{path}').status_code == 200, path\n"
        "print('torch' in sys.modules, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr[-2000:]
    helped = [
        sys.executable,
        "-c",
        "import sys; from seqloom.cli.main import main; main(['--help'])",
    ]
    helped[-1] += "; print('fastapi' in sys.modules)"
    done = subprocess.run(helped, capture_output=True, text=True)
    assert "studio" in done.stdout and done.stdout.endswith("False\n")


def test_programs_are_told_in_json(tmp_path):
    command = [sys.executable, "-m", "seqloom", "studio", "--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen(
        [*command, "--runs", str(tmp_path), "--token", "sesame"], stdout=subprocess.PIPE, text=True
    )
    told = json.loads(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=20)
    assert told["token"] == "sesame" and told["address"].endswith("/?token=sesame")
