// Try: a form for each task; the answer below it, how long it took, and a way into the inside.
import { clear, h } from "../dom.js";
import { get, left, post, problemBox } from "../api.js";
import { path, place as here, set } from "../address.js";
import { shortcut } from "../keys.js";
import { chooseModel, exampleChips } from "../cards/choosing.js";
import { FORMS, manyAnswers, shown } from "../cards/forms.js";

export const title = (now) => (now.id ? `Try ${now.id}` : "Try");

const LONGEST = 20;

export async function show(main, now, signal) {
  if (!now.id) return chooseModel(main, "try", "Try", "Which model do you want to try?", signal);
  const model = await get(`/models/${encodeURIComponent(now.id)}`, { signal }),
    base = `/models/${encodeURIComponent(now.id)}`;
  const form = FORMS[model.task] || FORMS.predict,
    query = (name) => here().query.get(name);
  const field = h("textarea", {
    id: "try-text",
    class: form.mono ? "mono" : "",
    dir: "auto",
    rows: form.rows || 3,
    value: query("text") ?? "",
    placeholder: form.placeholder,
  });
  const result = h(".try-result"),
    past = h("ol.try-history"),
    settings = (form.settings || []).map((option) => setting(option, query(option.name)));
  const go = h("button.primary", { type: "submit" }, form.verb);
  main.append(
    h("h1", "Try ", h("span.wrap", model.id)),
    h("p.muted", form.about),
    h(
      "form.try-form",
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            ask();
          },
        },
      },
      exampleChips(model, "Examples:", (text) => {
        field.value = text;
        ask();
      }),
      h("label", { for: "try-text" }, form.label),
      field,
      h(
        ".row",
        settings.map((one) => one.element),
        go,
      ),
    ),
    result,
    h("section.try-past", h("h2", "Earlier in this tab"), past),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || form.isWhole || event.isComposing) return;
    event.preventDefault();
    ask();
  });
  let asking = null;
  shortcut("/", "Put the cursor into the input", () => field.focus(), { signal });
  shortcut("Escape", "Stop writing", () => (asking ? asking.abort() : false), { signal });
  signal.addEventListener("abort", () => asking?.abort());

  async function ask(more = {}) {
    asking?.abort();
    const own = (asking = new AbortController()),
      text = field.value,
      given = Object.fromEntries(settings.map((one) => [one.name, one.value()]).filter(([, value]) => value !== null));
    set({ text, ...Object.fromEntries(settings.map((one) => [one.name, one.value()])) }, { replace: true });
    go.disabled = true;
    result.setAttribute("aria-busy", "true");
    const send = (to, body) => post(base + to, body, { signal: own.signal });
    try {
      const said = form.stream
        ? await form.stream({
            model,
            text,
            given,
            result,
            foot,
            stop: () => own.abort(),
            signal: own.signal,
            again: ask,
            ...more,
          })
        : await answer(send, text, given);
      remember(model.id, text, said);
      listPast();
    } catch (problem) {
      if (!left(problem)) clear(result).append(problemBox(problem, () => ask()));
    }
    if (asking !== own) return;
    asking = null;
    go.disabled = false;
    result.removeAttribute("aria-busy");
  }
  async function answer(send, text, given) {
    const inputs = form.isWhole ? [text] : text.split("\n").filter((line) => line.trim());
    const found = await send(":predict", { inputs, parameters: form.parameters ? form.parameters(given) : given }),
      [first] = found.outputs;
    const see = (view) =>
      model.views.some((one) => one.view === view) && send(`/views/${view}`, { text: inputs[0] }).catch(() => null);
    clear(result).append(
      h(
        ".card",
        inputs.length > 1 ? manyAnswers(form, found.outputs) : first && (await form.draw(first, { see })),
        foot(found),
      ),
    );
    return shown(first);
  }
  /** What stands below every answer: how long it took, the JSON, and the way into the inside. */
  function foot(found) {
    const json = h("pre.snippet", { hidden: true, tabindex: "0" }, JSON.stringify(found, null, 1).slice(0, 60_000)),
      ms = found.timing_ms;
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
  function listPast() {
    const kept = memory(model.id),
      line = (text, length) =>
        h(
          "bdi",
          String(text ?? "")
            .replace(/\s+/g, " ")
            .slice(0, length),
        );
    past.parentElement.hidden = !kept.length;
    clear(past).append(
      ...kept.map((one) =>
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
            line(one.text || "(nothing)", 60),
          ),
          h("span.muted", line(one.answer, 80)),
        ),
      ),
    );
  }
  listPast();
  return query("text") ? void ask() : undefined;
}

function setting({ name, label = name.replaceAll("_", " "), value, min, max, step, help }, chosen) {
  const input = h("input.short", { id: `try-${name}`, type: "number", value: chosen ?? value, min, max, step });
  return {
    name,
    element: h("label.control", { title: help }, h("span", label), input),
    value: () => (input.value === "" || input.value === String(value) ? null : Number(input.value)),
  };
}

function memory(id) {
  return JSON.parse(sessionStorage.getItem(`seqloom-try-${id}`) || "[]");
}

function remember(id, text, answer) {
  sessionStorage.setItem(
    `seqloom-try-${id}`,
    JSON.stringify([{ text, answer }, ...memory(id).filter((one) => one.text !== text)].slice(0, LONGEST)),
  );
}
