// Time-lapse of training: the snapshots saved at each evaluation, step by step or played.
import { announce, h, icon } from "../dom.js";
import { setQuery } from "../route.js";
import { prefersReducedMotion } from "../theme.js";
import { shortcut } from "../keys.js";

const FRAME_MS = 250;

/** The slider over the steps of the training snapshots; `changed` is called after the URL has changed. */
export function timeLapse(page, changed, signal) {
  const steps = page.model.probes?.steps || [],
    inputs = page.model.probes?.inputs || [];
  if (steps.length < 2 || !inputs.length) return { element: "", update() {} };
  let timer = 0;
  const slider = h("input", {
    type: "range",
    min: 0,
    max: steps.length,
    step: 1,
    "aria-label": "training step",
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
  const input = h(
    "select",
    {
      "aria-label": "snapshot input",
      on: {
        change: () => {
          stop();
          choose(Math.min(Number(slider.value), steps.length - 1), input.value);
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
    h("label.control", h("span", "input"), input),
  );

  const position = () => (page.step() === null ? steps.length : Math.max(0, steps.indexOf(page.step())));
  function update() {
    const at = position(),
      text = page.snapshotInput();
    slider.value = String(at);
    if (inputs.includes(text)) input.value = text;
    shown.textContent =
      at === steps.length
        ? "final model"
        : `step ${steps[at].toLocaleString("en")} of ${steps[steps.length - 1].toLocaleString("en")}`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    element.dataset.step = at === steps.length ? "" : steps[at];
  }
  function choose(at, text = null) {
    const index = Math.max(0, Math.min(steps.length, at)),
      current = page.snapshotInput();
    // Snapshots exist for their own inputs only: any other text is replaced by the first of them.
    const chosen = text ?? (inputs.includes(current) ? current : inputs[0]);
    const isFinal = index === steps.length;
    setQuery(
      {
        edit: null,
        step: isFinal ? null : steps[index],
        ...page.snapshotQuery(isFinal && text === null ? current : chosen, isFinal),
      },
      { replace: true },
    );
    changed();
    update();
  }
  function toggle() {
    if (timer) return stop();
    if (prefersReducedMotion()) {
      announce("Reduced motion is set: step with the keys [ and ].");
      return choose(position() >= steps.length ? 0 : position() + 1);
    }
    choose(0);
    label.textContent = "Pause";
    timer = setInterval(() => {
      if (document.querySelector(".inside-card[aria-busy]")) return;
      if (position() >= steps.length - 1) stop();
      else choose(position() + 1);
    }, FRAME_MS);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    label.textContent = "Play";
  }
  signal.addEventListener("abort", stop);
  const move = (by) => {
    stop();
    choose(position() + by);
    announce(shown.textContent);
  };
  shortcut("[", "Time-lapse: previous step", () => move(-1), { signal });
  shortcut("]", "Time-lapse: next step", () => move(1), { signal });
  shortcut("p", "Time-lapse: play or pause", toggle, { signal });
  update();
  return { element, update };
}
