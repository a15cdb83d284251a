// Time-lapse: the probe inputs that training kept at each evaluation, step by step or played.
import { announce, h, icon } from "../dom.js";
import { set } from "../address.js";
import { isStill } from "../theme.js";
import { shortcut } from "../keys.js";

const FRAME = 250;

/** The slider over the steps of a model's probes; `changed` is called after the address is. */
export function timeLapse(page, changed, signal) {
  const steps = page.model.probes?.steps || [],
    inputs = page.model.probes?.inputs || [];
  if (steps.length < 2 || !inputs.length) return { element: "", tell() {} };
  let timer = 0;
  const slider = h("input", {
    type: "range",
    min: 0,
    max: steps.length,
    step: 1,
    "aria-label": "step of training",
    dataset: { control: "step" },
    on: {
      input: () => {
        stop();
        choose(Number(slider.value));
      },
    },
  });
  const shown = h("output.number"),
    label = h("span", "Play");
  const play = h(
    "button",
    { class: "small", dataset: { control: "play" }, on: { click: toggle } },
    icon("play"),
    label,
  );
  const probe = h(
    "select",
    {
      "aria-label": "probe input",
      on: {
        change: () => {
          stop();
          choose(Math.min(Number(slider.value), steps.length - 1), probe.value);
        },
      },
    },
    ...inputs.map((text) => h("option", { value: text }, text.replace(/\s+/g, " ").slice(0, 40))),
  );
  const element = h(
    ".lapse",
    { role: "group", "aria-label": "Time-lapse of training" },
    h("b", "Time-lapse"),
    play,
    slider,
    shown,
    h("label.control", h("span", "probe"), probe),
  );

  const here = () => (page.step() === null ? steps.length : Math.max(0, steps.indexOf(page.step())));
  function tell() {
    const at = here(),
      text = page.probe();
    slider.value = String(at);
    if (inputs.includes(text)) probe.value = text;
    shown.textContent =
      at === steps.length
        ? "as it is now"
        : `step ${steps[at].toLocaleString("en")} of ${steps[steps.length - 1].toLocaleString("en")}`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    element.dataset.step = at === steps.length ? "" : steps[at];
  }
  function choose(at, text = null) {
    const wanted = Math.max(0, Math.min(steps.length, at)),
      now = page.probe();
    // What training kept are the probe inputs: another text goes back to the first of them.
    const probed = text ?? (inputs.includes(now) ? now : inputs[0]);
    const isNow = wanted === steps.length;
    set(
      { edit: null, step: isNow ? null : steps[wanted], ...page.probed(isNow && text === null ? now : probed, isNow) },
      { replace: true },
    );
    changed();
    tell();
  }
  function toggle() {
    if (timer) return stop();
    if (isStill()) {
      announce("Your computer asks for less motion: step with the keys [ and ].");
      return choose(here() >= steps.length ? 0 : here() + 1);
    }
    choose(0);
    label.textContent = "Pause";
    timer = setInterval(() => {
      if (document.querySelector(".inside-card[aria-busy]")) return;
      if (here() >= steps.length - 1) stop();
      else choose(here() + 1);
    }, FRAME);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    label.textContent = "Play";
  }
  signal.addEventListener("abort", stop);
  const move = (by) => {
    stop();
    choose(here() + by);
    announce(shown.textContent);
  };
  shortcut("[", "The step before, in the time-lapse", () => move(-1), { signal });
  shortcut("]", "The step after, in the time-lapse", () => move(1), { signal });
  shortcut("p", "Play the time-lapse, or pause it", toggle, { signal });
  tell();
  return { element, tell };
}
