"""Look inside for forecasting networks: cards, token strip, time-lapse."""

from .browsing import check_width, shoot
from .looking import card, look, sentence, slide

SERIES = "month,sold\n" + "".join(
    f"20{10 + n // 12}-{n % 12 + 1:02},{40 + n % 7 + 10 * (n % 12 > 5)}\n" for n in range(48)
)


def told(studio, run, view, **options):
    return studio.post(f"/models/{run}/views/{view}", {"series": SERIES, **options})


def test_gates_and_states_of_a_forecast_lie_below_its_numbers(studio, page):
    look(page, studio, "sales-lstm", SERIES, at=3)
    gates = told(studio, "sales-lstm", "gates")
    found = card(page, "gates")
    assert sentence(found) == gates["caption"]
    kept = [v > 0.9 for row in gates["gates"]["gate.forget"]["values"] for v in row]
    share = round(100 * sum(kept) / len(kept))
    assert f"{share} % of the values are open (>0.9)" in sentence(found)
    strip = page.locator(".strip-line .token")
    assert strip.all_inner_texts() == gates["tokens"]["numbers"]
    assert len(gates["tokens"]["src"]) == 24 == strip.count()
    assert strip.nth(3).get_attribute("title").startswith(f"{gates['tokens']['src'][3]}: ")
    states = told(studio, "sales-lstm", "states")
    assert sentence(card(page, "states")) == states["caption"]
    told_there = page.locator(".cursor-values").inner_text()
    mean = sum(states["values"][3]) / len(states["values"][3])
    assert f"state, mean\n{mean:.2f}" in told_there
    flow = told(studio, "sales-lstm", "gradient_flow")
    assert sentence(card(page, "gradient_flow")) == flow["caption"]
    assert flow["layers"] == ["layer 1", "layer 2"] and flow["layer"] == 1
    page.select_option('[data-control="gradient_flow.layer"]', "0")
    lower = told(studio, "sales-lstm", "gradient_flow", layer=0)
    page.wait_for_function(
        "words => document.querySelector('#card-gradient_flow figcaption').innerText === words",
        arg=lower["caption"],
    )
    shoot(page, "forecast-network-inside")
    # One cursor for all, also for views that look back less far.
    influence = told(studio, "sales-lstm", "influence")
    assert influence["tokens"]["src"] == gates["tokens"]["src"]
    assert sentence(card(page, "influence")) == influence["caption"]
    check_width(page)


def test_a_transformer_of_series_shows_where_each_month_looks(studio, page):
    page.emulate_media(color_scheme="dark")
    look(page, studio, "sales-transformer", SERIES)
    found, numbers = card(page, "attention"), told(studio, "sales-transformer", "attention")
    assert sentence(found) == numbers["caption"]
    rows = found.locator("[role=row]").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => Number(cell.dataset.value)))"
    )
    assert rows == numbers["weights"] and len(rows) == 20
    assert numbers["tokens"]["src"][-1] == "2013-12"
    heads = card(page, "heads")
    assert heads.locator("button.head").count() == 2 * len(numbers["layers"])
    shoot(page, "forecast-transformer-dark")
    check_width(page)


def test_time_lapse_of_a_forecast_replays_its_bands(studio, page):
    run = studio.need("sales-lstm")
    probes = studio.get(f"/models/{run}")["probes"]
    steps, name = probes["steps"], probes["inputs"][0]
    assert {"forecast", "gates", "states"} <= set(probes["views"])
    look(page, studio, run, SERIES)
    now = sentence(card(page, "forecast"))
    first, last = (
        studio.post(f"/models/{run}/views/forecast?step={step}", {"text": name})
        for step in (steps[0], steps[-1])
    )
    assert first["series"][0]["mean"] != last["series"][0]["mean"]
    for key, step, wanted in (("Home", steps[0], first), ("End", steps[-1], last)):
        slide(page, key, step)
        assert sentence(card(page, "forecast")) == wanted["caption"]
        ahead = wanted["series"][0]
        assert f"to {ahead['mean'][-1]:.3g} at {ahead['times']['ahead'][-1]}" in wanted["caption"]
        shoot(page, f"forecast-time-lapse-{key.lower()}")
    assert page.locator("#card-influence").is_hidden()
    assert page.input_value("#inside-text") == SERIES
    page.locator("[data-control=step]").press("ArrowRight")
    page.wait_for_function("() => !location.search.includes('step=')")
    assert sentence(card(page, "forecast")) == now
    check_width(page)
