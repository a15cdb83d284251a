"""Every card of Look inside on a trained model: captions and figures against the JSON of the view."""

import pytest

from .browsing import check_width, shoot
from .looking import card, look, sentence, show, table, told, walk

LETTERS, PAIR, LINE = "a b c d e", "a cat sees the bird", "the dog hears a cat"
QUOTED = 'bcd "aeiou" gfd\ncfg "ouaie" bbf'
SERIES = "month,sold\n" + "".join(
    f"20{10 + n // 12}-{n % 12 + 1:02},{100 + n + 20 * (n % 12 > 5)}\n" for n in range(60)
)


def test_the_attention_matrix_is_the_json_and_is_walked_by_keys(studio, page):
    look(page, studio, "backwards", LETTERS)
    found, numbers = card(page, "attention"), told(studio, "backwards", "attention", LETTERS)
    assert sentence(found) == numbers["caption"]
    assert sentence(found).startswith("Mostly reversed.")
    best = max((w, r, c) for r, row in enumerate(numbers["weights"]) for c, w in enumerate(row))
    source, target = numbers["tokens"]["src"], numbers["tokens"]["tgt"]
    assert f'"{target[best[1]]}" attends to "{source[best[2]]}" ({best[0]:.2f})' in sentence(found)
    rows = found.locator("[role=row]").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => Number(cell.dataset.value)))"
    )
    assert rows == numbers["weights"]
    assert all(abs(sum(row) - 1) < 0.01 for row in rows)
    assert found.locator(".matrix-best.outline-dark").count() == len(target)
    shoot(page, "23-attention-matrix")
    found.locator(".matrix").focus()
    walk(page, "ArrowDown")
    said = walk(page, "ArrowRight", "ArrowRight", "ArrowDown")
    assert said == f"row {target[1]}, column {source[2]}, {numbers['weights'][1][2]:.2f}"
    assert "to=1" in page.url
    cells = table(found)
    assert cells[0][1:] == source
    assert [row[0] for row in cells[1:]] == target
    assert [row[1:] for row in cells[1:]] == [
        [f"{weight:.2f}" for weight in row] for row in numbers["weights"]
    ]
    check_width(page)


def test_ribbons_are_as_wide_as_the_weights_and_one_word_hides_the_others(studio, page):
    look(page, studio, "backwards", LETTERS, **{"attention.as": "ribbons"})
    found, numbers = card(page, "attention"), told(studio, "backwards", "attention", LETTERS)
    widths = found.locator(".ribbon").evaluate_all(
        "all => all.map(one => [+one.dataset.row, +one.dataset.column, +one.getAttribute('stroke-width')])"
    )
    for row, column, width in widths:
        assert width == pytest.approx(max(0.6, 15 * numbers["weights"][row][column]), abs=0.01)
    shown = "all => all.filter(one => one.style.display !== 'none').map(one => +one.dataset.row)"
    assert len(set(found.locator(".ribbon").evaluate_all(shown))) == len(numbers["weights"])
    found.locator("[data-side=row][data-index='2']").hover()
    assert set(found.locator(".ribbon").evaluate_all(shown)) == {2}
    shoot(page, "24-attention-ribbons")
    page.mouse.move(0, 0)
    found.locator(".ribbons").focus()
    assert walk(page, "ArrowRight").startswith(f"{numbers['tokens']['tgt'][0]} attends to ")
    assert set(found.locator(".ribbon").evaluate_all(shown)) == {0}


def test_a_head_of_the_grid_opens_in_the_card_of_attention(studio, page):
    look(page, studio, "reverse-transformer", PAIR)
    found, numbers = card(page, "heads"), told(studio, "reverse-transformer", "heads", PAIR)
    assert sentence(found) == numbers["caption"]
    heads = [head for layer in numbers["layers"] for head in layer["heads"]]
    assert found.locator(".head").count() == len(heads)
    for layer in numbers["layers"]:  # as the sentence and the address count them
        shown = found.locator(
            f".heads-layer:has(h4:text-is('{layer['name']}')) .head"
        ).all_inner_texts()
        assert [one.split("\n")[0] for one in shown] == [
            f"{n}: {head['behaviour']}" for n, head in enumerate(layer["heads"])
        ]
    options = card(page, "attention").locator("[data-control='attention.head'] option")
    assert options.all_inner_texts() == ["mean of all heads", "head 0", "head 1"]
    shoot(page, "26-heads")
    before = sentence(card(page, "attention"))
    found.locator(".head").nth(1).click()
    wanted = told(studio, "reverse-transformer", "attention", PAIR, layer=0, head=1)
    page.wait_for_function(
        "text => document.querySelector('#card-attention figcaption').textContent === text",
        arg=wanted["caption"],
    )
    assert wanted["caption"] != before or wanted["weights"] != heads[0]["weights"]
    assert "attention.layer=0" in page.url and "attention.head=1" in page.url


def test_text_coloured_by_a_cell_with_a_story(studio, page):
    look(page, studio, "quoter", QUOTED)
    found, numbers = card(page, "cell"), told(studio, "quoter", "cell", QUOTED)
    assert sentence(found) == numbers["caption"]
    assert f"Cell {numbers['cell']} of {numbers['cells']}" in sentence(found)
    for story in numbers["stories"]:
        said = story["sentence"].removeprefix(f"Cell {story['cell']} ")
        assert said in found.locator(".stories").inner_text()
        assert story["inside"] != pytest.approx(story["outside"], abs=0.05)
    symbols = found.locator("[role=option]")
    assert symbols.all_inner_texts() == [show(one) for one in numbers["tokens"]["src"]]
    titles = symbols.evaluate_all("all => all.map(one => Number(one.title.split(': ').at(-1)))")
    assert titles == pytest.approx(numbers["values"], abs=0.0051)
    colours = symbols.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) > 4
    shoot(page, "19-cell")
    found.locator("[data-control='cell.cell']").focus()
    other = 0 if numbers["cell"] else 1
    found.locator("[data-control='cell.cell']").fill(str(other))
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => document.querySelector('#card-cell figcaption').textContent.startsWith(`Cell ${n} `)",
        arg=other,
    )
    check_width(page)


def test_gates_are_aligned_with_the_token_strip(studio, page):
    look(page, studio, "quoter", QUOTED, at=4)
    found, numbers = card(page, "gates"), told(studio, "quoter", "gates", QUOTED)
    assert sentence(found) == numbers["caption"]
    share = round(100 * numbers["gates"]["gate.forget"]["open"])
    assert f"{share} % of the values are open" in sentence(found)
    length = len(numbers["tokens"]["src"])
    assert found.locator("canvas").count() == len(numbers["gates"])
    assert found.locator("canvas").first.bounding_box()["width"] == 14 * length
    colours = found.locator("canvas").first.evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height)"
        ".data.buffer)).size"
    )
    assert colours > 20
    cursor = found.locator(".heat-cursor").first.bounding_box()
    symbol = found.locator("[role=option][aria-selected=true]").bounding_box()
    assert abs(cursor["x"] - symbol["x"]) < 1 and abs(cursor["width"] - symbol["width"]) < 1
    shoot(page, "20-gates")
    found.locator(".heat").first.focus()
    said = walk(page, "ArrowRight", "ArrowDown")
    gate = next(iter(numbers["gates"]))
    value = numbers["gates"][gate]["values"][5][numbers["order"][1]]
    assert said.endswith(f": {value:.2f}")
    assert "at=5" in page.url


def test_states_are_drawn_and_a_click_chooses_a_cell(studio, page):
    look(page, studio, "quoter", QUOTED)
    found, numbers = card(page, "states"), told(studio, "quoter", "states", QUOTED)
    assert sentence(found) == numbers["caption"]
    found.locator(".heat-stage").click(position={"x": 3, "y": 1})
    wanted = numbers["order"][0]
    page.wait_for_function("n => location.search.includes(`cell.cell=${n}`)", arg=wanted)
    page.wait_for_function(
        "n => document.querySelector('#card-cell figcaption')?.textContent.startsWith(`Cell ${n} `)",
        arg=wanted,
    )


def test_influence_of_three_families_under_one_cursor(studio, page):
    studio.need("writer-3-gram", "writer-transformer")
    query = {"influence.with": "writer-3-gram,writer-transformer"}
    look(page, studio, "writer", LINE, at=6, **query)
    found, numbers = card(page, "influence"), told(studio, "writer", "influence", LINE, at=6)
    assert sentence(found) == numbers["caption"]
    for other in ("writer-3-gram", "writer-transformer"):
        wanted = told(studio, other, "influence", LINE, at=6)
        page.wait_for_selector(f"[data-beside='{other}'] [role=listbox]")
        assert wanted["caption"] in found.locator(f"[data-beside='{other}']").inner_text()
    symbols = found.locator("[role=listbox]").first.locator("[role=option]")
    largest = max(numbers["influence"][0], key=abs)
    place = numbers["influence"][0].index(largest)
    assert f": {largest:.3g}".rstrip("0").replace("-", "−") in symbols.nth(place).get_attribute(
        "title"
    )
    shoot(page, "21-influence")
    page.locator(".strip-line [role=listbox]").focus()
    page.keyboard.press("ArrowRight")
    wanted = told(studio, "writer", "influence", LINE, at=7)["caption"]
    page.wait_for_function(
        "text => document.querySelector('#card-influence figcaption').textContent === text",
        arg=wanted,
    )


def test_gradient_through_time_is_read_by_arrow_keys(studio, page):
    look(page, studio, "writer", LINE)
    found, numbers = card(page, "gradient_flow"), told(studio, "writer", "gradient_flow", LINE)
    assert sentence(found) == numbers["caption"]
    found.locator(".lines").focus()
    said = walk(page, "Home", "ArrowRight")
    assert said.startswith("lag 1: writer ")
    shown = float(said.split("writer ")[1].split(",")[0].replace("−", "-"))
    assert shown == pytest.approx(numbers["models"][0]["state"][1], rel=0.01)
    shoot(page, "22-gradient")


def test_surprise_on_the_text(studio, page):
    look(page, studio, "writer", LINE)
    found, numbers = card(page, "surprise"), told(studio, "writer", "surprise", LINE)
    known = [bits for bits in numbers["bits"] if bits is not None]
    assert sentence(found).startswith(f"{sum(known) / len(known):.2f} bits")
    cells = table(found)
    assert [row[1] for row in cells[1:]] == [
        "" if bits is None else f"{bits:.1f}" for bits in numbers["bits"]
    ]


def test_what_comes_next_hatches_what_the_sampling_cuts(studio, page):
    look(page, studio, "writer", LINE, at=3, **{"next.top_k": 2})
    found, numbers = card(page, "next"), told(studio, "writer", "next", LINE, at=3, top_k=2)
    assert sentence(found) == numbers["caption"]
    rows = found.locator(".share-row")
    assert [rows.nth(n).get_attribute("data-name") for n in range(3)] == [
        choice["symbol"] for choice in numbers["choices"][:3]
    ]
    cut = [not choice["kept"] for choice in numbers["choices"][:12]]
    kinds = rows.evaluate_all("all => all.map(one => one.classList.contains('is-cut'))")
    assert kinds == cut and sum(not one for one in cut) == 2
    assert rows.nth(0).inner_text().split()[-2] == f"{100 * numbers['choices'][0]['after']:.1f}"
    shoot(page, "13-next")


def test_sentences_and_words_of_a_document(studio, page):
    text = "a cat sees the bird. the dog hears a cat."
    look(page, studio, "documents", text)
    found, numbers = card(page, "hierarchy"), told(studio, "documents", "hierarchy", text)
    assert sentence(found) == numbers["caption"]
    weights = found.locator(".turn-word").evaluate_all("all => all.map(w => +w.dataset.weight)")
    assert weights == [w for one in numbers["sentences"] for w in one["weights"]]
    labels = card(page, "choices"), told(studio, "documents", "choices", text)
    assert sentence(labels[0]) == labels[1]["caption"]
    assert (
        labels[0]
        .locator(".share-row")
        .first.inner_text()
        .startswith(labels[1]["choices"][0]["label"])
    )
    shoot(page, "27-hierarchy")
    check_width(page)


def test_components_and_forecast_of_a_filter(studio, page):
    studio.need("sales")
    page.goto(f"{studio.address}/inside/sales")
    page.fill("#inside-text", SERIES)
    page.click(".inside-form [type=submit]")
    found = card(page, "forecast")
    numbers = studio.post("/models/sales/views/forecast", {"series": SERIES})
    assert sentence(found) == numbers["caption"]
    fan = numbers["series"][0]["quantiles"]
    edges = ["0.025", "0.1", "0.25", "0.75", "0.9", "0.975"]
    for step in range(len(fan["0.1"])):
        ahead = [fan[level][step] for level in edges]
        assert ahead == sorted(ahead)
    areas = found.locator(".line-band").evaluate_all(
        "all => all.map(one => [+one.dataset.share, one.getBBox().height])"
    )
    assert [share for share, _ in areas] == [0.95, 0.8, 0.5]
    assert areas[0][1] > areas[1][1] > areas[2][1] > 0
    assert found.locator(".now").count() == 1
    shoot(page, "36-forecast")
    parts = card(page, "components")
    numbers = studio.post("/models/sales/views/components", {"series": SERIES})
    assert sentence(parts) == numbers["caption"]
    assert parts.locator(".lines").count() == len(numbers["components"])
    shoot(page, "35-components")
    check_width(page)


def test_views_that_a_model_lacks_are_named(studio, page):
    look(page, studio, "classifier", LINE)
    missing = studio.get("/models/classifier")["missing"]
    line = page.inner_text(".missing")
    assert line.startswith("Not available for this model: ")
    assert {one["view"] for one in missing} > {"attention", "gates"}
    for one in missing:
        assert page.locator(f"#card-{one['view']}").count() == 0
        assert one["title"].lower() in line


def test_tags_with_how_sure_the_model_is(studio, page):
    text = "the cat sees a dog"
    look(page, studio, "tagger", text)
    found, numbers = card(page, "tags"), told(studio, "tagger", "tags", text)
    assert sentence(found) == numbers["caption"]
    marks = found.locator(".tag-mark").evaluate_all("all => all.map(one => one.dataset.label)")
    assert marks == [span["label"] for span in numbers["spans"]]
    words = found.locator(".tagged-word")
    assert words.all_inner_texts() == numbers["tokens"]["src"]
    thick = words.evaluate_all(
        "all => all.map(one => parseFloat(getComputedStyle(one).borderBottomWidth))"
    )
    for place, tag in enumerate(numbers["tags"]):
        if any(span["start"] <= place < span["end"] for span in numbers["spans"]):
            assert thick[place] == pytest.approx(1 + 4 * tag["p"], abs=1)
    words.nth(1).click()
    assert "at=1" in page.url
    page.wait_for_function(
        "text => document.querySelector('.cursor-values').textContent.includes(text)",
        arg=f"{numbers['tags'][1]['label']} {100 * numbers['tags'][1]['p']:.1f} %",
    )
    shoot(page, "33-tags")
    check_width(page)


def test_the_trellis_of_a_hidden_markov_model(studio, page):
    text = "the cat sees a dog"
    look(page, studio, "tagger-hmm", text)
    found, numbers = card(page, "trellis"), told(studio, "tagger-hmm", "trellis", text)
    assert sentence(found) == numbers["caption"]
    large = [p for row in numbers["smoothed"] for p in row if p >= 0.001]
    assert found.locator(".trellis-dot").count() == len(large)
    assert found.locator(".trellis-path").get_attribute("d").count("L") == len(numbers["path"]) - 1
    cells = table(found)
    assert [row[1] for row in cells[1:]] == [numbers["states"][n] for n in numbers["path"]]
    shoot(page, "34-trellis")
    found.locator("text=Filtered").click()
    large = [p for row in numbers["filtered"] for p in row if p >= 0.001]
    assert found.locator(".trellis-dot").count() == len(large)
    assert "trellis.as=filtered" in page.url
    found.locator("[data-control='trellis.path']").uncheck()
    assert found.locator(".trellis-path").count() == 0
    marks = (
        card(page, "tags").locator(".tag-mark").evaluate_all("all => all.map(m => m.dataset.label)")
    )
    assert marks == [tag["label"] for tag in told(studio, "tagger-hmm", "tags", text)["tags"]]


def test_the_tree_of_a_search_and_a_beginning_that_is_forced(studio, page):
    look(page, studio, "backwards", LETTERS)
    found, numbers = card(page, "beam"), told(studio, "backwards", "beam", LETTERS)
    assert sentence(found) == numbers["caption"]
    assert found.locator(".tree-node").count() == len(numbers["nodes"])
    path = []
    node = numbers["answers"][0]
    while node >= 0:
        path.append(node)
        node = numbers["nodes"][node]["parent"]
    assert found.locator(".tree-node.won").count() == len(path)
    assert found.locator(".written li bdi").all_inner_texts() == numbers["written"]
    found.locator(".tree").focus()
    said = walk(page, "ArrowRight")
    first = numbers["nodes"][path[-1]]
    assert said.startswith(f"{first['symbol']} · log-probability {first['log_prob']:.2f}")
    shoot(page, "30-beam")
    other = next(
        n
        for n, one in enumerate(numbers["nodes"])
        if one["parent"] < 0 and n not in path and one["symbol"] in "abcdefgh"
    )
    symbol = numbers["nodes"][other]["symbol"]
    found.locator(f".tree-node[data-node='{other}']").dispatch_event("click")
    page.wait_for_selector(".forced")
    forced = told(studio, "backwards", "beam", LETTERS, prefix=symbol)
    page.wait_for_function(
        "text => document.querySelector('#card-beam figcaption').textContent === text",
        arg=forced["caption"],
    )
    assert f"beam.prefix={symbol}" in page.url
    assert all(text.startswith(symbol) for text in found.locator(".written bdi").all_inner_texts())
    shoot(page, "31-beam-forced")
    found.locator("text=Reset").click()
    page.wait_for_selector(".forced", state="detached")
    check_width(page)


def test_a_view_without_a_card_is_drawn_by_the_server(studio, page):
    route = "**/static/js/cards/registry.js"
    page.route(
        route,
        lambda it: it.fulfill(content_type="text/javascript", body="export const KINDS = {};"),
    )
    look(page, studio, "writer-3-gram", LINE)
    found, numbers = card(page, "surprise"), told(studio, "writer-3-gram", "surprise", LINE)
    assert sentence(found) == numbers["caption"]
    picture = page.locator("#card-surprise .server-picture > svg")
    picture.wait_for()
    assert picture.bounding_box()["width"] > 100
    assert picture.get_attribute("aria-label") == numbers["caption"]
    assert len(table(found)) == len(numbers["tokens"]["src"]) + 1
