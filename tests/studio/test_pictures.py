"""Pictures rendered by the server follow the theme of the page."""

import pytest

from .browsing import ready

DRAW = """async ({ run, text }) => {
  const { serverPicture } = await import("/static/js/cards/picture.js");
  const { post } = await import("/static/js/api.js");
  const asked = post(`/models/${run}/views/surprise`, { text }, { accept: "text/html" });
  const { drawing } = serverPicture(asked);
  document.querySelector("main").append(drawing);
  await asked;
  await new Promise((done) => setTimeout(done, 50));
  const colour = (node) => getComputedStyle(node).fill;
  const title = [...drawing.querySelectorAll("text")].find((one) => /^Surprisal/.test(one.textContent));
  return [colour(drawing.querySelector("svg > rect")), colour(title)];
}"""


@pytest.mark.parametrize(
    ("theme", "ground", "ink"),
    [
        ("light", "rgb(255, 255, 255)", "rgb(27, 31, 36)"),
        ("dark", "rgb(17, 20, 24)", "rgb(230, 237, 243)"),
    ],
)
def test_a_picture_of_python_has_the_colours_of_the_page(studio, page, theme, ground, ink):
    run = studio.need("writer-3-gram")
    page.emulate_media(color_scheme=theme)
    page.goto(f"{studio.address}/serve")
    ready(page)
    assert page.evaluate(DRAW, {"run": run, "text": "the dog"}) == [ground, ink]
