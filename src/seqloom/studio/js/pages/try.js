// Try: a form for each task, the output, the time it took, and a link to Look inside.
import { clear, h } from "../dom.js";
import { get, isAborted, post, problemBox } from "../api.js";
import { currentRoute, path, setQuery } from "../route.js";
import { shortcut } from "../keys.js";
import { modelPicker, exampleChips } from "../cards/pickers.js";
import { FORMS, outputTable } from "../cards/forms.js";
import { outputText } from "../shell/format.js";

export const title = (route) => (route.id ? `Try ${route.id}` : "Try");

const MAX_HISTORY = 20;

export async function show(main, route, signal) {
  if (!route.id) return modelPicker(main, "try", "Try", "Choose a model to try.", signal);
  const model = await get(`/models/${encodeURIComponent(route.id)}`, { signal }),
    base = `/models/${encodeURIComponent(route.id)}`;
  const form = FORMS[model.task] || FORMS.predict,
    query = (name) => currentRoute().query.get(name);
  const field = h("textarea", {
    id: "try-text",
    class: form.mono ? "mono" : "",
    dir: "auto",
    rows: form.rows || 3,
    value: query("text") ?? "",
    placeholder: form.placeholder,
  });
  const result = h(".try-result"),
    historyList = h("ol.try-history"),
    settings = (form.settings || []).map((option) => setting(option, query(option.name)));
  const submit = h("button.primary", { type: "submit" }, form.verb);
  main.append(
    h("h1", "Try ", h("span.wrap", model.id)),
    h("p.muted", form.about),
    h(
      "form.try-form",
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            predict();
          },
        },
      },
      exampleChips(model, "Examples:", (text) => {
        field.value = text;
        predict();
      }),
      h("label", { for: "try-text" }, form.label),
      field,
      h(
        ".row",
        settings.map((one) => one.element),
        submit,
      ),
    ),
    result,
    h("section.try-past", h("h2", "History of this tab"), historyList),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || form.isWhole || event.isComposing) return;
    event.preventDefault();
    predict();
  });
  let pending = null;
  shortcut("/", "Focus the input", () => field.focus(), { signal });
  shortcut("Escape", "Stop generating", () => (pending ? pending.abort() : false), { signal });
  signal.addEventListener("abort", () => pending?.abort());

  async function predict(more = {}) {
    pending?.abort();
    const own = (pending = new AbortController()),
      text = field.value,
      values = settings.map((one) => [one.name, one.value()]),
      options = Object.fromEntries(values.filter(([, value]) => value !== null));
    setQuery({ text, ...Object.fromEntries(values) }, { replace: true });
    submit.disabled = true;
    result.setAttribute("aria-busy", "true");
    const send = (to, body) => post(base + to, body, { signal: own.signal });
    try {
      const output = form.stream
        ? await form.stream({
            model,
            text,
            options,
            result,
            foot,
            stop: () => own.abort(),
            signal: own.signal,
            restart: predict,
            ...more,
          })
        : await predictOnce(send, text, options);
      saveHistory(model.id, text, output);
      showHistory();
    } catch (problem) {
      if (!isAborted(problem)) clear(result).append(problemBox(problem, () => predict()));
    }
    if (pending !== own) return;
    pending = null;
    submit.disabled = false;
    result.removeAttribute("aria-busy");
  }
  async function predictOnce(send, text, options) {
    const inputs = form.isWhole ? [text] : text.split("\n").filter((line) => line.trim());
    const parameters = form.parameters ? form.parameters(options) : options,
      response = await send(":predict", { inputs, parameters }),
      [first] = response.outputs;
    const view = (name) =>
      model.views.some((one) => one.view === name) && send(`/views/${name}`, { text: inputs[0] }).catch(() => null);
    clear(result).append(
      h(
        ".card",
        inputs.length > 1 ? outputTable(form, response.outputs) : first && (await form.draw(first, { view })),
        foot(response),
      ),
    );
    return (form.textOf ?? outputText)(first);
  }
  /** The footer of an output: time, JSON, and a link to Look inside. */
  function foot(response) {
    const json = h("pre.snippet", { hidden: true, tabindex: "0" }, JSON.stringify(response, null, 1).slice(0, 60_000)),
      ms = response.timing_ms;
    const toggle = h(
      "button.small",
      {
        "aria-expanded": "false",
        on: {
          click: () => {
            json.hidden = !json.hidden;
            toggle.setAttribute("aria-expanded", String(!json.hidden));
          },
        },
      },
      "JSON",
    );
    return h(
      ".try-foot",
      h(
        ".row",
        ms !== undefined &&
          h(
            "span.muted.number",
            `took ${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms on this computer`,
          ),
        toggle,
        h("a.button.small", { href: path("inside", model.id, { text: field.value }) }, "Explain this"),
      ),
      json,
    );
  }
  function showHistory() {
    const entries = loadHistory(model.id),
      line = (text, length) =>
        h(
          "bdi",
          String(text ?? "")
            .replace(/\s+/g, " ")
            .slice(0, length),
        );
    historyList.parentElement.hidden = !entries.length;
    clear(historyList).append(
      ...entries.map((one) =>
        h(
          "li",
          h(
            "button.quiet.small",
            {
              on: {
                click: () => {
                  field.value = one.text;
                  field.focus();
                },
              },
            },
            line(one.text || "(empty)", 60),
          ),
          h("span.muted", line(one.answer, 80)),
        ),
      ),
    );
  }
  showHistory();
  return query("text") ? void predict() : undefined;
}

function setting({ name, label = name.replaceAll("_", " "), value, min, max, step, help }, chosen) {
  const input = h("input.short", { id: `try-${name}`, type: "number", value: chosen ?? value, min, max, step });
  return {
    name,
    element: h("label.control", { title: help }, h("span", label), input),
    value: () => (input.value === "" || input.value === String(value) ? null : Number(input.value)),
  };
}

function loadHistory(id) {
  return JSON.parse(sessionStorage.getItem(`seqloom-try-${id}`) || "[]");
}

function saveHistory(id, text, answer) {
  sessionStorage.setItem(
    `seqloom-try-${id}`,
    JSON.stringify([{ text, answer }, ...loadHistory(id).filter((one) => one.text !== text)].slice(0, MAX_HISTORY)),
  );
}
