// Train: data, models, settings, on one page; the same on the command line always below.

import { h, icon, put, write } from "../dom.js";
import { get, left, post, problemBox } from "../api.js";
import { go, path, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes, count } from "../shell/words.js";
import { command } from "../shell/copying.js";
import { settingsOf } from "../shell/recipes.js";
import { field, markWrong, optionsOf, usual } from "../train/fields.js";
import { checked, commandOf, differing, recipes } from "../train/order.js";

export const title = "Train";
const LEARNS = { counting: "counts once: instant", passes: "in passes over the data", gradients: "by gradients: takes longest" };

/** Fill the page. */
export async function show(main, place, signal) {
  if (place.query.get("from")) return copyFrom(place, signal);
  main.append(h("h1", "Train"));
  const { datasets, tasks } = await waiting(main, everything(signal), { height: 420 });
  const task = tasks.find((one) => one.name === place.query.get("task"));
  const dataset = datasets.find((one) => one.id === place.query.get("data"));
  if (!task) return put(main, ...chooseFirst(tasks, datasets, place));
  const found = await get(`/tasks/${encodeURIComponent(task.name)}/models`, { signal });
  new Form(main, { task, dataset, datasets, found, place, signal });
}

async function everything(signal) {
  const [{ datasets }, { tasks }] = await Promise.all([get("/datasets", { signal }), get("/tasks", { signal })]);
  return { datasets, tasks };
}

// Another run's settings, those that differ from the defaults, written into the address.
async function copyFrom(place, signal) {
  const run = await get(`/runs/${encodeURIComponent(place.query.get("from"))}`, { signal });
  const [{ datasets, tasks }, found] = await Promise.all([everything(signal), get(`/tasks/${encodeURIComponent(run.task)}/models`, { signal })]);
  const options = optionsOf(found, tasks.find((one) => one.name === run.task), [run.model]);
  const dataset = datasets.find((one) => run.recipe.data.train?.includes(`/${one.id}/`));
  const settings = differing(run.recipe, options);
  const query = new URLSearchParams({ task: run.task, models: run.model, ...settings });
  if (dataset) query.set("data", dataset.id);
  else if (run.recipe.data.train) query.set("data.train", run.recipe.data.train);
  go(`/train?${query}`, { replace: true });
}

function chooseFirst(tasks, datasets, place) {
  return [
    h("h1", "Train"),
    h("p", "First choose data: ", h("a", { href: "/" }, "drop a file or take an example"), ", or one that is here already."),
    datasets.length > 0 && h("ul", datasets.map((one) => h("li", h("a", { href: path("data", one.id) }, one.name), h("span.muted", ` · ${bytes(one.bytes)}`)))),
    h("h2", "Tasks"),
    h("dl.facts", tasks.map((task) => [h("dt", place.query.get("data") ? h("a", { href: path("train", null, { data: place.query.get("data"), task: task.name }) }, task.name) : task.name), h("dd", task.summary)])),
  ].filter(Boolean);
}

class Form {
  constructor(main, about) {
    Object.assign(this, about);
    const query = this.place.query;
    const known = this.found.models.map((model) => model.name);
    const asked = (query.get("models") ?? "").split(",").filter((name) => known.includes(name));
    this.choice = { task: this.task.name, data: this.dataset?.id ?? null, models: asked.length ? asked : this.firstModels() };
    this.options = optionsOf(this.found, this.task, this.choice.models);
    this.choice.settings = settingsOf(query, Object.fromEntries([...this.options].map(([name, option]) => [name, option.kind])));
    this.settingsBox = h("div");
    this.told = h("div");
    this.note = h("p.muted.small", { role: "status" });
    this.command = command("…");
    this.start = h("button", { class: "primary", id: "start", on: { click: () => this.train() } }, icon("play"), "Start training");
    put(main, h("h1", "Train"), this.dataSection(), this.modelSection(), this.settingsSection(),
      h("section.stack", this.told, h(".row", this.start, this.note), h("h3", "The same on the command line"), this.command));
    this.drawSettings();
    this.check();
  }

  // The baseline, and the first that is not one: comparing with a simple model is the default.
  firstModels() {
    const models = this.found.models;
    const simple = models.find((model) => model.is_baseline) ?? models.find((model) => model.learns !== "gradients");
    const other = models.find((model) => model !== simple && model.learns === "gradients") ?? models.find((model) => !model.is_baseline);
    return [...new Set([simple, other])].filter(Boolean).map((model) => model.name);
  }

  dataSection() {
    const file = this.choice.data ? h("a", { href: path("data", this.dataset.id, { task: this.task.name }) }, this.dataset.name) : h("span.wrap", this.place.query.get("data.train") ?? "made by the task itself");
    return h("section", { "aria-labelledby": "step-data" },
      h("h2.step", { id: "step-data", dataset: { step: "1" } }, "Data"),
      h(".card.row.apart",
        h("p", { style: { margin: 0 } }, h("strong", file), h("span.muted", this.dataset ? ` · ${bytes(this.dataset.bytes)}` : "", ` · task: ${this.task.name}`), h("br"), h("span.small", this.task.summary)),
        h(".row", this.dataset && h("a.button.small", { href: path("data", this.dataset.id, { task: this.task.name }) }, "Look at it"), h("a.button.small", { href: "/" }, "Change"))));
  }

  modelSection() {
    this.cards = h(".grid", this.found.models.map((model) => this.modelCard(model)));
    return h("section", { "aria-labelledby": "step-model" },
      h("h2.step", { id: "step-model", dataset: { step: "2" } }, "Model"),
      h("p.muted.small", "From simple to large. Tick one or several: they are trained one after another, and can then be compared."), this.cards);
  }

  modelCard(model) {
    const box = h("input", { type: "checkbox", value: model.name, checked: this.choice.models.includes(model.name), on: { change: () => this.choose() } });
    return h("label.card.model-card", { dataset: { model: model.name } }, box,
      h("strong", model.name, model.is_baseline && h("span.muted", " · the baseline")),
      h("p.small", model.summary), h("p.small.muted", LEARNS[model.learns] ?? ""));
  }

  choose() {
    this.choice.models = [...this.cards.querySelectorAll("input:checked")].map((box) => box.value);
    this.options = optionsOf(this.found, this.task, this.choice.models);
    set({ models: this.choice.models.join(",") }, { replace: true });
    this.drawSettings();
    this.check();
  }

  settingsSection() {
    return h("section", { "aria-labelledby": "step-settings" },
      h("h2.step", { id: "step-settings", dataset: { step: "3" } }, "Settings"), this.settingsBox);
  }

  drawSettings() {
    const learns = new Set(this.found.models.filter((model) => this.choice.models.includes(model.name)).map((model) => model.learns));
    const first = usual(this.options, learns);
    const rest = [...this.options.keys()].filter((name) => !first.includes(name));
    const open = this.settingsBox.querySelector("details[data-more]")?.open ?? false;
    const more = h(".stack");
    const fold = h("details", { dataset: { more: "" }, open, on: { toggle: () => fold.open && !more.childElementCount && this.fillMore(more, rest) } }, h("summary", `${count(rest.length, "more setting")}`), more);
    if (open) this.fillMore(more, rest);
    put(this.settingsBox, h(".stack", h(".settings", first.map((name) => this.field(name))), fold, this.tomlFold()));
  }

  fillMore(box, names) {
    const titles = { task: "Task", data: "Data", model: "Model", training: "Training" };
    put(box, Object.entries(titles).map(([table, words]) => {
      const own = names.filter((name) => name.startsWith(`${table}.`));
      return own.length > 0 && h("fieldset", h("legend", words), h(".settings", own.map((name) => this.field(name))));
    }));
  }

  field(name) {
    return field(this.options.get(name), this.choice.settings[name], (full, value) => this.change(full, value));
  }

  change(full, value) {
    if (value === null) delete this.choice.settings[full];
    else this.choice.settings[full] = value;
    set({ [full]: value === null ? null : String(value) }, { replace: true });
    this.soon();
  }

  // --- The full recipe ------------------------------------------------------------------------

  tomlFold() {
    const model = h("select", { id: "toml-model", "aria-label": "Recipe of which model", on: { change: () => this.fillToml() } }, this.choice.models.map((name) => h("option", { value: name }, name)));
    this.toml = h("textarea.mono.toml", { id: "toml", spellcheck: "false", autocomplete: "off", "aria-label": "The whole recipe", "aria-describedby": "toml-told", on: { input: () => this.editToml() } });
    this.tomlTold = h("div", { id: "toml-told" });
    this.tomlModel = model;
    const isOpen = this.place.query.has("all") || this.settingsBox.querySelector("#toml-fold")?.open;
    return h("details", { id: "toml-fold", open: Boolean(isOpen), on: { toggle: (event) => set({ all: event.currentTarget.open ? "1" : null }, { replace: true }) } },
      h("summary", "All settings (the whole recipe as TOML)"),
      h(".stack", this.choice.models.length > 1 && h(".row", h("label", { for: "toml-model" }, "Model"), model), this.toml, this.tomlTold));
  }

  fillToml() {
    const at = this.choice.models.indexOf(this.tomlModel.value);
    if (document.activeElement !== this.toml && this.answers?.[at]) this.toml.value = this.answers[at].toml;
    put(this.tomlTold);
  }

  // What is typed is checked as it is; once it is right, what differs becomes settings.
  editToml() {
    clearTimeout(this.typing);
    this.typing = setTimeout(async () => {
      try {
        const answer = await post("/recipes:check", { toml: this.toml.value }, { signal: this.signal });
        this.toml.setAttribute("aria-invalid", "false");
        put(this.tomlTold, h("p.good.small", icon("finished"), " This recipe is right."));
        this.takeTables(answer);
      } catch (problem) {
        if (left(problem)) return;
        this.toml.setAttribute("aria-invalid", "true");
        put(this.tomlTold, problemBox(problem));
        this.close(problem);
      }
    }, 350);
  }

  takeTables(answer) {
    const tables = answer.tables ?? answer.recipe ?? {};
    const settings = differing(tables, this.options);
    const gone = Object.keys(this.choice.settings).filter((name) => !(name in settings) && this.options.has(name));
    this.choice.settings = { ...Object.fromEntries(Object.entries(this.choice.settings).filter(([name]) => !gone.includes(name))), ...settings };
    set({ ...Object.fromEntries(gone.map((name) => [name, null])), ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])) }, { replace: true });
    this.check();
  }

  // --- Checking and starting ------------------------------------------------------------------

  soon() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.check(), 300);
  }

  async check() {
    if (!this.choice.models.length) return this.close(null, "Tick at least one model.");
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { answers, problem } = await checked(recipes(this.choice, this.options), this.signal).catch((error) => ({ answers: [], problem: left(error) ? null : error }));
    if (turn !== this.turn || this.signal.aborted) return;
    markWrong(this.settingsBox, problem);
    if (problem) {
      put(this.told, problemBox(problem));
      return this.close(problem);
    }
    this.answers = answers;
    put(this.told);
    this.start.disabled = false;
    this.fillToml();
    const names = this.choice.models;
    write(this.note, names.length > 1 ? `${names.length} models, one after another: ${names.join(", ")}.` : "");
    this.command.write(commandOf(answers));
  }

  close(problem, words) {
    this.start.disabled = true;
    write(this.note, words ?? "Training can start once the problem above is solved.");
  }

  async train() {
    this.start.disabled = true;
    write(this.note, "Starting…");
    try {
      const { runs } = await post("/runs", { recipes: recipes(this.choice, this.options) }, { signal: this.signal });
      document.dispatchEvent(new CustomEvent("runs-changed"));
      go(path("run", runs.at(-1)));
    } catch (problem) {
      if (!left(problem)) put(this.told, problemBox(problem));
      this.start.disabled = false;
      write(this.note, "");
    }
  }
}

