// Try: a form for each task; the answer below it, how long it took, and a way into the inside.
import { clear, h } from "../dom.js";
import { get, left, post, problemBox } from "../api.js";
import { path, place as here, set } from "../address.js";
import { shortcut } from "../keys.js";
import { chooseModel } from "../cards/choosing.js";
import { FORMS } from "../cards/forms.js";

export const title = (now) => (now.id ? `Try ${now.id}` : "Try");

const LONGEST = 20;

export async function show(main, now, signal) {
  if (!now.id) return chooseModel(main, "try", "Try", "Which model do you want to try?", signal);
  const model = await get(`/models/${encodeURIComponent(now.id)}`, { signal });
  const form = FORMS[model.task] || FORMS[model.form] || FORMS.predict;
  const query = (name) => here().query.get(name);
  const field = h("textarea", { id: "try-text", class: form.mono ? "mono" : "", dir: "auto", rows: form.rows || 3, value: query("text") ?? "", placeholder: form.placeholder });
  const result = h(".try-result", { "aria-live": "off" }), past = h("ol.try-history");
  const settings = form.settings(model).map((option) => setting(option, query));
  const go = h("button", { type: "submit", class: "primary" }, form.verb(model));
  const element = h("form.try-form", { on: { submit: (event) => { event.preventDefault(); ask(); } } },
    chips(model, (text) => { field.value = text; ask(); }),
    h("label", { for: "try-text" }, form.label(model)), field,
    h(".row", ...settings.map((one) => one.element), go));
  main.append(h("h1", "Try ", h("span.wrap", model.id)), h("p.muted", form.about(model)), element, result,
    h("section.try-past", { hidden: true }, h("h2", "Earlier in this tab"), past));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || form.enter === false || event.isComposing) return;
    event.preventDefault();
    ask();
  });
  shortcut("/", "Put the cursor into the input", () => field.focus(), { signal });
  let asking = null;
  shortcut("Escape", "Stop writing", () => { if (!asking) return false; asking.abort(); return true; }, { signal });
  signal.addEventListener("abort", () => asking?.abort());

  async function ask(more = {}) {
    asking?.abort();
    const own = new AbortController();
    asking = own;
    const given = Object.fromEntries(settings.map((one) => [one.name, one.value()]).filter(([, value]) => value !== null));
    set({ text: field.value, ...Object.fromEntries(settings.map((one) => [one.name, one.value()])) }, { replace: true });
    go.disabled = true;
    result.setAttribute("aria-busy", "true");
    const frame = frameOf(model, () => field.value);
    try {
      await form.ask({ model, text: field.value, given, frame, result, signal: own.signal, again: ask, post: send(model, own.signal), ...more });
      remember(model, field.value, frame.said);
      listPast();
    } catch (problem) {
      if (!left(problem)) clear(result).append(problemBox(problem, () => ask()));
    } finally {
      if (asking === own) { asking = null; go.disabled = false; result.removeAttribute("aria-busy"); }
    }
  }
  function listPast() {
    const kept = memory(model);
    past.parentElement.hidden = !kept.length;
    clear(past).append(...kept.map(({ text, answer }) => h("li", h("button", { class: "quiet small", on: { click: () => { field.value = text; field.focus(); } } }, h("bdi", text.replace(/\s+/g, " ").slice(0, 60) || "(nothing)")), h("bdi.muted", ` ${String(answer ?? "").replace(/\s+/g, " ").slice(0, 80)}`))));
  }
  listPast();
  if (query("text") && query("go") !== "no") ask();
}

const send = (model, signal) => (body, view) => post(`/models/${encodeURIComponent(model.id)}${view ? `/views/${view}` : ":predict"}`, body, { signal });

/** What stands around every answer: how long it took, the JSON, and the way into the inside. */
function frameOf(model, text) {
  const json = h("pre.code-panel.snippet", { hidden: true, tabindex: "0" });
  const toggle = h("button", { class: "small", "aria-expanded": "false", on: { click: () => { json.hidden = !json.hidden; toggle.setAttribute("aria-expanded", String(!json.hidden)); } } }, "JSON");
  const took = h("span.muted.number");
  return {
    said: "",
    foot(answer) {
      const ms = answer.timing_ms;
      took.textContent = ms === undefined ? "" : `took ${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms on this computer`;
      json.textContent = JSON.stringify(answer, null, 1).slice(0, 60_000);
      return h(".try-foot", h(".row", took, toggle, h("a.button.small", { href: path("inside", model.id, { text: text() }) }, "Explain this")), json);
    },
  };
}

function chips(model, use) {
  const examples = (model.examples || []).slice(0, 6);
  return examples.length > 0 && h(".row.examples", h("span.muted.small", "Examples:"),
    ...examples.map((example) => h("button", { class: "example-chip", dir: "auto", title: String(example).slice(0, 400), on: { click: () => use(example) } }, String(example).replace(/\s+/g, " ").slice(0, 48))));
}

function setting({ name, label, kind = "number", value, min, max, step, help, choices }, query) {
  const start = query(name) ?? value;
  const input = choices ? h("select", { id: `try-${name}`, value: String(start) }, ...choices.map((choice) => h("option", { value: choice }, choice)))
    : h("input", { id: `try-${name}`, type: kind, value: start, min, max, step, class: kind === "number" ? "short" : "" });
  return {
    name, element: h("label.control", { title: help }, h("span", label || name.replaceAll("_", " ")), input),
    value: () => (input.value === "" || input.value === String(value) ? null : kind === "number" && !choices ? Number(input.value) : input.value),
  };
}

function memory(model) {
  try {
    return JSON.parse(sessionStorage.getItem(`seqloom-try-${model.id}`)) || [];
  } catch {
    return [];
  }
}

function remember(model, text, answer) {
  const kept = [{ text, answer }, ...memory(model).filter((one) => one.text !== text)].slice(0, LONGEST);
  try {
    sessionStorage.setItem(`seqloom-try-${model.id}`, JSON.stringify(kept));
  } catch {
    // No storage: the list is left out.
  }
}
