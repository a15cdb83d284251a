"""What the pages compute and say by themselves, against the numbers, over random ones: in one page, without a model."""

import math
import random

import numpy as np
import pytest

from seqloom.examples import EXAMPLES
from seqloom.metrics import METRICS
from seqloom.views.draw.time_axis import short_times
from seqloom.views.next_token import NextTokenView, SamplingDistribution

CALL = """async ([file, name, calls]) => {
  const { [name]: called } = await import(`/static/js/${file}.js`);
  return calls.map((given) => called(...given));
}"""
DIAGNOSTICS = """async (runs) => {
  const [{ TrainingHistory }, { diagnostics }] = await Promise.all([import("/static/js/run/history.js"), import("/static/js/run/health.js")]);
  return runs.map(([events, training]) => {
    const history = new TrainingHistory();
    events.forEach((event) => history.add(event));
    return diagnostics(history, training, { name: "accuracy", title: "accuracy" });
  });
}"""
DIFFERENCE = """async (cases) => {
  const [{ editDifference }, { signed }] = await Promise.all([import("/static/js/cards/interventions.js"), import("/static/js/colours.js")]);
  const api = { page: { edits: { isDifference: () => true } } };
  return cases.map(([after, before, full]) => {
    const { values, limit } = editDifference({ bits: after, before: { bits: before } }, ({ bits }) => bits, api, full);
    return { values, limit, colours: values.map((value) => signed(value / limit)) };
  });
}"""


def called(page, file, name, calls):
    return page.evaluate(CALL, [file, name, [list(given) for given in calls]])


def view_of(probabilities, kept):
    names = [f"w{n}" for n in range(len(probabilities))]
    sampling = SamplingDistribution(np.where(kept, probabilities, 0.0), top_k=int(kept.sum()))
    return NextTokenView(["a"], 0, names, probabilities, sampling, "m").to_json()


def test_all_others_are_those_that_are_not_drawn(blank):
    chance = np.random.default_rng(1)
    sizes = (3, 12, 13, 19, 20, 21, 200)
    drawn = [chance.dirichlet(np.full(size, 0.3)) for size in sizes for _ in range(5)]
    views = [view_of(row, np.ones(len(row), bool)) for row in drawn]
    found = called(blank, "cards/outputs", "probabilityOfOthers", [(view, 12) for view in views])
    for row, rest in zip(drawn, found, strict=True):
        assert rest == pytest.approx(np.sort(row)[:-12].sum(), abs=1e-6)


def rank(value, about):
    """Smaller is better."""
    if about.get("aim") is not None:
        return abs(value - about["aim"])
    return value if about["lower_is_better"] else -value


def test_stars_are_of_the_best_by_the_direction_of_the_metric_or_by_what_it_aims_at(blank):
    random.seed(2)
    kinds = [{"lower_is_better": True}, {"lower_is_better": False}]
    kinds += [
        {"lower_is_better": None, "aim": METRICS[n].aim} for n in ("coverage_80", "coverage_95")
    ]
    cases = [
        ([random.randint(0, 20) / 20 for _ in range(n)], about)
        for about in kinds
        for n in (2, 3, 4)
        for _ in range(10)
    ]
    cases += [([0.78, 0.99], kinds[2]), ([0.78, 0.82], kinds[2]), ([None, 0.3], kinds[0])]
    for (values, about), stars in zip(
        cases, called(blank, "compare/metrics", "bestOf", cases), strict=True
    ):
        ranks = [math.inf if value is None else rank(value, about) for value in values]
        wanted = [one <= min(ranks) + 1e-9 for one in ranks]
        known = [one for one in ranks if one < math.inf]
        is_one = sum(wanted) < len(known)
        assert stars == [one and is_one for one in wanted], (values, about)


LANGUAGE = {"task": "language", "metric": "bits", "metric_title": "bits per character"}
WORDS = {"task": "language", "metric": "perplexity", "metric_title": "perplexity per token"}
FORECAST = {"task": "forecast", "metric": "mase", "metric_title": "MASE"}


def test_an_axis_has_one_metric_of_one_task(blank):
    both, alone = [{"bits": 2.0, "perplexity": 9.0}], [{"perplexity": 9.0}]
    cases = [
        ([LANGUAGE, LANGUAGE], [[], []]),
        ([LANGUAGE, WORDS], [both, both]),
        ([LANGUAGE, WORDS], [both, alone]),
        ([LANGUAGE, WORDS], [[{"bits": 1.0}], alone]),
        ([LANGUAGE, FORECAST, LANGUAGE], [both, [{"mase": 1.0, "bits": 1.0}], both]),
        ([FORECAST, {**FORECAST, "metric": None}], [[{"mase": 1.0}], []]),
    ]
    groups = [
        [(one["metric"], one["title"], one["runs"]) for one in found]
        for found in called(blank, "compare/curves", "metricGroups", cases)
    ]
    assert groups == [
        [("bits", "bits per character", [0, 1])],
        [("bits", "bits per character", [0, 1])],
        [("perplexity", "perplexity per token", [0, 1])],
        [("bits", "bits per character", [0]), ("perplexity", "perplexity per token", [1])],
        [("bits", "bits per character", [0, 2]), ("mase", "MASE", [1])],
        [("mase", "MASE", [0])],
    ]


def test_a_small_change_by_an_intervention_is_pale(blank):
    random.seed(3)
    cases = []
    for size in (0.02, 0.5, 4.0, 9.0):
        before = [random.uniform(0, 8) for _ in range(6)]
        cases.append(([one + random.uniform(-size, size) for one in before], before, 4))
    cases.append(([1.02, None], [1.0, None], 4))
    neutral, shown = (246, 248, 250), blank.evaluate(DIFFERENCE, cases)
    for (after, before, full), found in zip(cases, shown, strict=True):
        gained = [None if a is None else a - b for a, b in zip(after, before, strict=True)]
        assert found["values"] == pytest.approx(gained)
        most = max(abs(one or 0) for one in gained)
        assert found["limit"] == pytest.approx(max(full, most))
        for one, colour in zip(gained, found["colours"], strict=True):
            apart = [abs(int(c) - n) for c, n in zip(colour[4:-1].split(","), neutral, strict=True)]
            assert max(apart) <= 251 * abs(one or 0) / found["limit"] + 1


def events_of(gradients, accuracies, reason):
    """The events of a training as the server sends them: what is not a number is null."""
    events, best = [], -math.inf
    for step, gradient in enumerate(gradients, start=1):
        events.append(
            {"kind": "train", "t": step, "step": step, "gradient": gradient, "progress": 0.1}
        )
        if step <= len(accuracies):
            value = accuracies[step - 1]
            is_best, best = value > best, max(value, best)
            event = {"kind": "eval", "t": step, "step": step, "accuracy": value}
            events.append(event | ({"best": True} if is_best else {}))
    return [
        *events,
        *([{"kind": "end", "t": 99, "step": len(gradients), "reason": reason}] if reason else []),
    ]


def random_training():
    most = random.choice([1e-7, 1.0, 9.0, 60.0, 1e4])
    gradients = [most * random.random() for _ in range(random.randint(1, 80))]
    if random.random() < 0.3:
        gradients[random.randrange(len(gradients))] = None
    accuracies = [round(random.random(), 2) for _ in range(random.randint(0, 6))]
    return gradients, accuracies[: len(gradients)], random.choice(["finished", "diverged", None])


def test_diagnostics_are_true_of_the_events(blank):
    random.seed(4)
    runs = [random_training() for _ in range(150)]
    given = [[events_of(*run), {"max_grad_norm": number % 2}] for number, run in enumerate(runs)]
    for (gradients, accuracies, reason), found in zip(
        runs, blank.evaluate(DIAGNOSTICS, given), strict=True
    ):
        if reason == "diverged":
            assert "good" not in {one["level"] for one in found}
        check_gradients(gradients, reason, [one for one in found if "radient" in one["text"]])
        if accuracies:
            best = max(range(len(accuracies)), key=lambda i, all=accuracies: (all[i], -i))
            assert f"step {best + 1}" in found[0]["text"]
            is_last = best == len(accuracies) - 1
            assert ("is the best so far" in found[0]["text"]) == is_last


def check_gradients(gradients, reason, about):
    """At most one sentence; stable are only norms that are all finite and small."""
    known = [one for one in gradients if one is not None]
    assert len(about) == bool(known)
    for one in about:
        is_calm = len(known) == len(gradients) and max(known) <= 10 and reason != "diverged"
        assert (one["level"] == "good" and "stable" in one["text"]) <= is_calm
        if "Vanishing" in one["text"]:
            assert max(known[-50:]) < 1e-5
        else:
            assert f"at step {gradients.index(max(known)) + 1}" in one["text"]


EXAMPLE = """async (examples) => {
  const [{ exampleQuery, exampleRecipes, settingsOf }, { optionsOf }, { recipeBodies }] = await Promise.all(
    ["shell/recipes", "train/fields", "train/requests"].map((file) => import(`/static/js/${file}.js`)));
  return examples.map(([chosen, available, task]) => {
    const query = new URLSearchParams(exampleQuery(chosen)), models = query.get("models").split(","), options = optionsOf(available, task, models);
    return [exampleRecipes(chosen), recipeBodies({ task: query.get("task"), data: query.get("data"), models, ...settingsOf(query, options) }, options)];
  });
}"""


def test_the_settings_of_an_example_train_the_same_models_as_train_it(studio, blank):
    tasks = {one["name"]: one for one in studio.get("/tasks")["tasks"]}
    given = []
    for one in EXAMPLES.values():
        models = list(one.models)
        settings = {model: one.settings_of(model) for model in models}
        chosen = {"dataset": "d1", "task": one.task, "models": models, "settings": settings}
        given.append([chosen, studio.get(f"/tasks/{one.task}/models"), tasks[one.task]])
    for (chosen, *_), (at_once, by_settings) in zip(
        given, blank.evaluate(EXAMPLE, given), strict=True
    ):
        assert at_once == [
            {"task": chosen["task"], "data": "d1", "model": model, "settings": settings}
            for model, settings in chosen["settings"].items()
        ]
        assert by_settings == at_once


def test_outputs_in_one_line_are_labels_or_tokens_with_their_labels(blank):
    pairs = {"output": [["e", "-"], ["c", "-"], [">", "e"]]}
    outputs = [(pairs,), (pairs, True), ({"output": ["a", "b"]},), ({"text": "a\nb"},), (None,)]
    assert called(blank, "shell/format", "outputText", outputs) == [
        "- - e",
        "e/- c/- >/e",
        "a b",
        "a\nb",
        "",
    ]


def test_times_are_shortened_as_in_pictures(blank):
    days = [f"2024-02-{day:02} 00:00:00" for day in range(1, 5)]
    hours = [f"2024-02-01T{hour:02}:00:00" for hour in range(5)]
    lists = [days, hours, ["2024-01", "2024-02"], [*hours, "2024-02-01T07:00:30"], ["1", "2"]]
    found = called(blank, "figures/scales", "shortTimes", [(one,) for one in lists])
    assert found == [short_times(one) for one in lists]


AXES = """async (name) => {
  const { lines } = await import("/static/js/figures/lines.js");
  const main = document.getElementById("main"), points = [[0, 123456789], [1, 923456789.5], [40, 3e8]];
  main.replaceChildren(lines({ series: [{ name, points }], y: { label: "a label ".repeat(60) },
    x: { label: "time", show: (i) => `2024-01-01 00:00:0${Math.round(i)}+01:00` } }));
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  const svg = main.querySelector("svg"), box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].map((node) => [node.textContent, node.getBoundingClientRect(), box])
    .map(([text, own, all]) => [text, own.left - all.left, own.top - all.top, all.right - own.right, all.bottom - own.bottom]);
}"""


@pytest.mark.parametrize("name", ["", "a name that is rather long for a line"])
def test_no_label_of_a_chart_is_cut(blank, name):
    found = blank.evaluate(AXES, name)
    assert sum("2024-01-01" in text for text, *_ in found) >= 2
    assert any(text.endswith("00,000,000") for text, *_ in found)
    for text, *rooms in found:
        assert min(rooms) >= -1, (text, rooms)


WIDE_INFLUENCE = """async () => {
  const { influence } = await import("/static/js/cards/attribution.js");
  const src = Array.from({ length: 200 }, (_, i) => `2${1000 + i}-01`), tgt = ["next", "later"];
  const json = { unit: "weight", tokens: { src, tgt }, influence: tgt.map(() => src.map((_, i) => i / 200)) };
  const api = { local: () => null, at: () => null, move() {}, page: { model: { id: "m", task: "none", form: "forecast" } } };
  document.getElementById("main").replaceChildren(influence.draw(json, api).drawing);
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  const line = document.querySelector("#main .scroller");
  return [line.scrollLeft, line.scrollWidth - line.clientWidth];
}"""


def test_the_influence_on_a_forecast_opens_at_the_last_observations(blank):
    left, most = blank.evaluate(WIDE_INFLUENCE)
    assert 0 < most <= left + 1
