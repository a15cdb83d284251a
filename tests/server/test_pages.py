"""The pages and their static files: paths, 404s, and caching."""

from pathlib import Path

import pytest

import seqloom

STATIC = Path(seqloom.__file__).parent / "studio"
ADDRESSES = [
    "/",
    "/data/0123456789ab",
    "/train?data=x&task=tag",
    "/run/writer",
    "/compare?runs=a,b",
]
ADDRESSES += ["/inside/writer?text=a", "/inside", "/try/writer", "/serve", "/models", "/models/x"]
ADDRESSES += ["/api"]
OUTSIDE = ["/nowhere", "/run/a/b", "/index.html", "/.studio", "/etc/passwd"]
HOSTILE = [
    "/static/../errors.py",
    "/static/..%2f..%2ferrors.py",
    "/static/%2e%2e/errors.py",
    "/static/....//errors.py",
    "/static/js/../../errors.py",
    "/static//etc/passwd",
    "/static/js%00.js",
    "/static/..%5c..%5cerrors.py",
    "/static/",
    "/static/js",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_is_the_one_page(web, address):
    answer = web.get(address)
    assert answer.status_code == 200
    assert answer.content == (STATIC / "index.html").read_bytes()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("address", OUTSIDE)
def test_another_address_is_the_page_as_well_but_not_found(web, address):
    answer = web.get(address)
    assert answer.status_code == 404
    assert answer.content == (STATIC / "index.html").read_bytes()


@pytest.mark.parametrize("address", HOSTILE)
def test_no_file_beside_the_pages_is_given_out(web, address):
    answer = web.get(address)
    assert answer.status_code == 404
    assert b"SeqloomError" not in answer.content and b"root:" not in answer.content


def test_files_have_their_types_and_are_asked_for_again(web):
    for name, kind in (("js/main.js", "text/javascript"), ("studio.css", "text/css")):
        answer = web.get(f"/static/{name}")
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
        assert answer.headers["cache-control"] == "no-cache"
        again = web.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304 and again.content == b""
        other = web.get(f"/static/{name}", headers={"If-None-Match": '"other"'})
        assert other.content == (STATIC / name).read_bytes()


def test_head_is_an_answer_without_a_body(web):
    answer = web.head("/")
    assert answer.status_code == 200 and answer.content == b""


def test_an_address_of_the_api_that_is_not_there_is_a_problem(web):
    for ask in (web.get, web.delete, lambda path: web.post(path, json={})):
        answer = ask("/api/v1/nothing")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "S240"


def test_a_method_that_an_address_does_not_take_is_a_problem(web):
    for path, allowed in (("/api/v1/runs", "GET"), ("/healthz", "GET"), ("/static/a.js", "GET")):
        answer = web.put(path, json={})
        assert answer.status_code == 405 and answer.json()["code"] == "S241"
        assert allowed in answer.headers["allow"]
