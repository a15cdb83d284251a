"""Security middleware: hosts, origins, content types, tokens, and response headers."""

import httpx
import pytest

from .conftest import BASE, client

STATUS = "/api/v1/status"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_this_computer_is_let_in(web, host):
    assert web.get(STATUS, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", "localhost.", "", "0.0.0.0"],
)
@pytest.mark.parametrize("path", [STATUS, "/", "/static/js/main.js", "/nowhere", "/openapi.json"])
def test_another_name_is_not(web, host, path):
    answer = web.get(path, headers={"Host": host})
    assert answer.status_code == 421 and answer.json()["code"] == "S220"


def test_a_further_name_can_be_allowed(trained):
    with client(trained, hosts=("studio.local",)) as web:
        assert web.get(STATUS, headers={"Host": "studio.local:8000"}).status_code == 200
        assert web.get(STATUS, headers={"Host": "other.local"}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "is_right"),
    [
        ({}, True),
        ({"Origin": BASE}, True),
        ({"Origin": BASE, "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://127.0.0.1:9999"}, False),
        ({"Origin": "https://127.0.0.1:8000"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": BASE, "Sec-Fetch-Site": "cross-site"}, False),
    ],
)
def test_only_our_own_pages_change_anything(web, headers, is_right):
    answer = web.post("/api/v1/recipes:check", json={}, headers=headers)
    assert answer.status_code == (422 if is_right else 403)
    assert answer.json()["code"] == ("U006" if is_right else "S221")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_a_body_of_another_type_is_refused(web, kind):
    headers = {"Content-Type": kind} if kind else {}
    answer = web.post("/api/v1/recipes:check", content=b"{}", headers=headers)
    assert answer.status_code == 415 and answer.json()["code"] == "S222"
    answer = web.post(
        "/api/v1/recipes:check",
        content=b"{}",
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 415


def test_every_answer_keeps_other_sites_out(web):
    for path in ("/", STATUS, "/nowhere", "/static/studio.css", "/api/v1/runs/none/events"):
        headers = web.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert "http" not in policy, "no outside source"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert len(headers["x-request-id"]) == 16
    own = web.get(STATUS, headers={"X-Request-ID": "mine-1"})
    assert own.headers["x-request-id"] == "mine-1"
    odd = web.get(STATUS, headers={"X-Request-ID": "a b\tc"})
    assert odd.headers["x-request-id"] != "a b\tc"


@pytest.fixture
def secret(trained):
    with client(trained, host="0.0.0.0", token="sesame") as web:
        yield web


def test_without_the_token_nothing_is_shown(secret: httpx.Client):
    for path in (STATUS, "/", "/static/js/main.js", "/openapi.json", "/?token=wrong"):
        answer = secret.get(path)
        assert answer.status_code == 401 and answer.json()["code"] == "S223"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert secret.get("/healthz").status_code == 200
    wrong = secret.get(STATUS, headers={"Authorization": "Bearer sesam"})
    assert wrong.status_code == 401


def test_a_program_brings_it_in_a_header(secret: httpx.Client):
    answer = secret.get(STATUS, headers={"Authorization": "Bearer sesame"})
    assert answer.status_code == 200 and answer.json()["token"] is True
    assert answer.json()["local"] is False


def test_a_browser_brings_it_once_and_then_has_a_cookie(secret: httpx.Client):
    answer = secret.get("/run/x?token=sesame&x=step", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/run/x?x=step"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert secret.get("/run/x").status_code == 200
    other = secret.get("//evil.example/?token=sesame", follow_redirects=False)
    assert not other.headers.get("location", "/").startswith("//")


def test_beyond_loopback_numbers_are_names_but_other_sites_are_not(secret: httpx.Client):
    token = {"Authorization": "Bearer sesame"}
    assert secret.get(STATUS, headers={"Host": "192.168.1.7:8000", **token}).status_code == 200
    assert secret.get(STATUS, headers={"Host": "evil.example", **token}).status_code == 421
