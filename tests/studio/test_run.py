"""The page of a run: live, ended in every way, and its text against its events."""

import contextlib
import json
import re
import shlex

from tests.processes import start

from .browsing import check_width, ready, shoot
from .prepared import SMALL


@contextlib.contextmanager
def ended(process):
    """A process that does not outlive the test."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def events_of(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def numbers_of(folder, kind, *names):
    """What the events of a kind have told, one tuple an event."""
    return [tuple(e[name] for name in names) for e in events_of(folder) if e["kind"] == kind]


def test_a_finished_run_names_its_best_step_and_the_way_on(studio, page):
    run = studio.need("reverse")
    page.goto(f"{studio.address}/run/{run}")
    ready(page)
    page.wait_for_selector("[data-ending=finished]")
    best = [event for event in events_of(studio.runs / run) if event.get("best")][-1]
    assert f"Best at step {best['step']}" in page.inner_text("[data-ending=finished]")
    assert page.inner_text("[data-state=finished]") == "Finished"
    page.wait_for_function("() => document.querySelector('#curve-loss')?.dataset.points > 5")
    page.wait_for_selector(".command pre", timeout=150_000)
    command = shlex.split(page.inner_text(".command pre"))
    file = str(studio.workshop.data("pairs.tsv"))
    assert command[:6] == ["seqloom", "train", "translate", file, "-m", "encoder-decoder"]
    assert {"model.embedding_size=16", "training.epochs=6"} < set(command)
    shoot(page, "12-run-finished")
    check_width(page)


def test_what_is_being_pressed_is_not_drawn_anew_under_the_finger(studio, page):
    run = studio.need("reverse")
    held = []
    # What it is compared with comes late, and changes the box.
    page.route("**/runs", lambda it: held.append(it))
    page.goto(f"{studio.address}/run/{run}")
    page.wait_for_selector("[data-ending] >> text=Look inside")
    page.wait_for_function("() => document.querySelector('#curve-loss')?.dataset.points > 5")
    page.locator("[data-ending] >> text=Look inside").evaluate("it => (it.dataset.is = 'old')")
    page.hover("[data-is=old]")
    page.mouse.down()
    for late in held:
        late.continue_()
    page.wait_for_timeout(1000)
    assert page.locator("[data-is=old]").count() == 1
    page.mouse.up()
    page.wait_for_url(f"**/inside/{run}**")


STEPS = {
    "training.epochs": 100_000,
    "training.evaluate_steps": 4,
    "training.batch_size": 8,
    "training.save_seconds": 0.5,
    "training.patience": 0,
}


def train_outside(studio, name, *more):
    """A training of the command line, which the studio knows nothing of."""
    settings = {**SMALL, **STEPS}
    given = [f"--set={key}={value}" for key, value in settings.items()]
    file = studio.workshop.data("pairs.tsv")
    arguments = ["train", "translate", str(file), "-m", "encoder-decoder", "--name", name]
    return start(studio.runs, *arguments, *given, *more, "--runs-dir", str(studio.runs))


def drawn(page, curve="loss", series=0):
    """The points of a curve, as the page's own JSON gives them."""
    shown = page.locator(f"#curve-{curve} .code-panel code")
    if not shown.count():
        page.click(f"#curve-{curve} [data-panel=JSON]")
    page.click(f"#curve-{curve} [data-panel=JSON]")
    page.click(f"#curve-{curve} [data-panel=JSON]")
    return json.loads(shown.inner_text())["series"][series]["points"]


def wait_for_points(page, count, curve="loss"):
    page.wait_for_function(
        f"() => document.querySelector('#curve-{curve}')?.dataset.points >= {count}",
        timeout=150_000,
    )


def test_a_run_of_the_command_line_is_seen_live_and_a_restart_loses_nothing(serve, page, watch):
    studio = serve()
    watch.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE")
    with ended(train_outside(studio, "outside", "--max-time", "300s")) as training:
        page.goto(f"{studio.address}/")
        page.wait_for_selector("tr[data-run=outside] [data-state=running]", timeout=150_000)
        page.click("tr[data-run=outside] a")
        wait_for_points(page, 10)
        assert page.inner_text(".run-head [data-state]") == "Running"
        assert re.search(
            r"step [\d,]+ .*tokens/s · .+ left", page.inner_text("[data-part=progress]")
        )
        assert len(page.query_selector_all(".sample")) >= 1
        check_width(page)
        shoot(page, "15-run-of-the-command-line")
        # The first command imports torch; and nothing is asked for when the server goes.
        page.wait_for_selector(".command pre", timeout=150_000)

        studio.stop()
        page.wait_for_selector("text=Reconnecting… (training is not affected)")
        shoot(page, "11-reconnecting")
        before = len(drawn(page))
        studio.start()
        page.wait_for_selector("text=Reconnecting…", state="hidden")
        wait_for_points(page, before + 15)
        seen = [tuple(point) for point in drawn(page)]
        told = numbers_of(studio.runs / "outside", "train", "step", "loss")
        assert seen == told[: len(seen)], "a gap, or an event that was seen twice"

        training.kill()
        page.wait_for_selector("[data-ending=vanished]")
        words = page.inner_text("[data-ending=vanished]")
        saved = numbers_of(studio.runs / "outside", "checkpoint", "step")
        assert "The training process is gone" in words
        assert f"Last checkpoint: step {saved[-1][0]:,}." in words
        shoot(page, "14-run-vanished")
        check_width(page)

        go_on(page, saved[-1][0])
        steps = [step for step, _ in drawn(page)]
        assert steps == sorted(set(steps)), "what the resume undid is still on the curve"
        page.click("[data-act=keep]")
        page.wait_for_selector("[data-ending=stopped]", timeout=150_000)
        assert "A checkpoint is saved" in page.inner_text("[data-ending=stopped]")
        shoot(page, "14-continued-then-stopped")


def go_on(page, step):
    """Continue a run, until it shows what it has learned beyond a step."""
    page.click("[data-act=continue]")
    page.wait_for_selector(".run-head [data-state=running]", timeout=150_000)
    page.wait_for_selector("[data-part=health] >> text=Resumed at step")
    page.wait_for_function(
        "step => [...document.querySelectorAll('.sample')].some(s => +s.dataset.step > step)",
        arg=step,
        timeout=150_000,
    )


def test_a_diverged_run_says_why_and_offers_smaller_steps(studio, page):
    run = studio.need("too-fast")
    page.goto(f"{studio.address}/run/{run}")
    page.wait_for_selector("[data-ending=diverged]")
    end = events_of(studio.runs / run)[-1]
    words = page.inner_text("[data-ending=diverged]")
    assert end["reason"] == "diverged"
    assert f"Problem {end['code']}: {end['problem']}" in words
    assert "Restart with learning rate 0.3" in words
    assert page.inner_text(".run-head [data-state]") == "Diverged"
    shoot(page, "13-run-diverged")
    check_width(page)

    page.click("text=Restart with learning rate 0.3")
    page.wait_for_url(lambda address: not address.endswith(f"/run/{run}"))
    again = page.url.rsplit("/", 1)[1]
    page.wait_for_selector(f"h1:has-text('{again}')")
    over = ".run-head [data-state=finished], .run-head [data-state=diverged]"
    page.wait_for_selector(over, timeout=150_000)
    before, after = (studio.get(f"/runs/{one}")["recipe"] for one in (run, again))
    assert after["training"].pop("learning_rate") == 0.3
    assert before["training"].pop("learning_rate") == 3.0
    assert after == before, "and nothing else is changed"


def test_a_training_that_crashed_says_why_first_and_folds_its_log(studio, page):
    data = studio.post("/datasets", {"text": "a\tb\n", "name": "one.tsv"})["id"]
    recipe = {"task": "translate", "data": data, "model": "encoder-decoder"}
    (run,) = studio.post("/runs", {"recipes": [recipe], "names": ["too-little"]})["runs"]
    page.goto(f"{studio.address}/run/{run}")
    page.wait_for_selector("[data-ending=crashed]", timeout=150_000)
    error = studio.get(f"/runs/{run}")["error"]
    assert f"Problem {error['code']}: {error['problem']}" in page.inner_text(
        "[data-ending=crashed]"
    )
    assert page.inner_text(".run-head [data-state]") == "Crashed"
    shoot(page, "13-run-crashed")
    check_width(page)


def test_stop_and_discard_leaves_no_run(studio, page):
    text = studio.workshop.data("pairs.tsv").read_text()
    data = studio.post("/datasets", {"text": text, "name": "pairs.tsv"})["id"]
    recipe = {"task": "translate", "data": data, "model": "encoder-decoder"}
    recipe["settings"] = {**SMALL, **STEPS, "training.max_time": "300s"}
    (run,) = studio.post("/runs", {"recipes": [recipe], "names": ["unwanted"]})["runs"]
    page.goto(f"{studio.address}/run/{run}")
    page.wait_for_selector(".run-head [data-state=running]", timeout=150_000)
    page.click("[data-act=discard]")
    page.click("dialog >> text=Cancel")
    assert page.inner_text(".run-head [data-state]") == "Running"
    page.click("[data-act=discard]")
    assert "with its weights and curves, will be deleted" in page.inner_text("dialog")
    shoot(page, "10-run-discard")
    page.click("dialog button.danger")
    page.wait_for_url(f"{studio.address}/", timeout=150_000)
    ready(page)
    assert page.locator("tr[data-run=unwanted]").count() == 0
    assert not (studio.runs / run).exists()
    assert run not in [one["id"] for one in studio.get("/runs")["runs"]]
