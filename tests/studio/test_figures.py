"""Figures: SVG and canvas rendering, tables, downloads, keyboard."""

import pytest

MADE = """async ([rows, columns]) => {
  const { matrix } = await import("/static/js/figures/matrix.js");
  const names = (count) => Array.from({ length: count }, (_, i) => `w${i}`);
  const values = names(rows).map((_, r) => names(columns).map((_, c) => (r === c ? 0.9 : 0.1 / (columns - 1))));
  const made = matrix({ rows: names(rows), columns: names(columns), values, outline: true });
  document.getElementById("main").replaceChildren(made);
  return [made.dataset.cells, made.querySelectorAll("canvas").length, made.querySelectorAll("[role=gridcell]").length];
}"""

HEAT = """async () => {
  const [{ heatmap }, { columnsOf }] = await Promise.all([import("/static/js/figures/heatmap.js"), import("/static/js/figures/tokens.js")]);
  const values = Array.from({ length: 1000 }, (_, t) => Array.from({ length: 512 }, (_, c) => (Math.sin(t * c) + 1) / 2));
  const columns = columnsOf(Array.from({ length: 1000 }, () => "a")), order = values[0].map((_, i) => 511 - i), main = document.getElementById("main");
  main.replaceChildren(heatmap({ values, order, columns, name: "forget" }));
  const canvas = main.querySelector("canvas"), pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return { width: canvas.width, height: canvas.height, colours: new Set(new Uint32Array(pixels.buffer)).size };
}"""

LINES = """async (count) => {
  const [{ figure }, { lines, linesTable }] = await Promise.all([import("/static/js/figures/figure.js"), import("/static/js/figures/lines.js")]);
  const series = [{ name: "one", points: Array.from({ length: count }, (_, i) => [i, Math.sin(i / 9) + 2]) }];
  const drawing = lines({ series, x: { label: "step" }, y: { label: "loss" } });
  document.getElementById("main").replaceChildren(figure({ id: "curve", title: "Loss", caption: "It falls.", drawing, table: () => linesTable(series, "step"), json: { view: "curve", series }, curl: "curl x", python: "print(1)" }));
}"""


def test_forty_by_forty_is_svg_and_eighty_by_eighty_is_canvas(blank):
    assert blank.evaluate(MADE, [40, 40]) == ["svg", 0, 1600]
    assert blank.evaluate(MADE, [80, 80]) == ["canvas", 1, 0]
    blank.locator(".matrix").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        blank.keyboard.press(key)
    assert blank.inner_text("#announcer") == "row w1, column w1, 0.90"
    focus = blank.locator(".matrix-focus").bounding_box()
    pixels = blank.locator("canvas").bounding_box()
    assert focus["x"] - pixels["x"] == pytest.approx(pixels["width"] / 80, abs=2)


def test_gates_of_512_cells_over_1000_steps_are_painted_a_pixel_each(blank):
    found = blank.evaluate(HEAT)
    assert (found["width"], found["height"]) == (1000, 512)
    assert found["colours"] > 100


def test_every_figure_offers_its_numbers(blank):
    blank.evaluate(LINES, 50)
    figure = blank.locator("figure#curve")
    assert figure.locator("figcaption").inner_text() == "It falls."
    drawing = figure.locator(".figure-drawing")
    assert drawing.get_attribute("aria-labelledby") == "curve-caption"
    foot = figure.locator(".figure-foot button").all_inner_texts()
    assert foot == ["Table", "SVG", "PNG", "JSON", "curl", "Python"]
    figure.locator("[data-panel=Table]").click()
    assert figure.locator("tbody tr").count() == 50
    assert figure.locator("[data-panel=Table]").get_attribute("aria-expanded") == "true"
    figure.locator("[data-panel=JSON]").click()
    assert '"view": "curve"' in figure.locator("pre").inner_text()
    with blank.expect_download() as svg:
        figure.locator("[data-download=SVG]").click()
    text = svg.value.path().read_text()
    assert text.startswith("<svg") and "<path" in text and "var(--" not in text
    with blank.expect_download() as png:
        figure.locator("[data-download=PNG]").click()
    assert png.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_long_curves_are_painted_and_read_by_keys(blank):
    blank.evaluate(LINES, 4000)
    blank.wait_for_selector(".lines canvas")
    assert blank.locator(".lines .series").count() == 0
    blank.locator(".lines").focus()
    blank.keyboard.press("End")
    assert blank.inner_text("#announcer").startswith("step 3,999: one ")
    assert blank.locator(".lines-values").is_visible()
