// Train: data, models, settings, on one page; the same on the command line always below.

import { facts, h, icon, put, write } from "../dom.js";
import { at, get, left, post, problemBox } from "../api.js";
import { go, path, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes, capital, count } from "../shell/words.js";
import { command } from "../shell/copying.js";
import { query, settingsOf } from "../shell/recipes.js";
import { field, markWrong, optionsOf, usual } from "../train/fields.js";
import { checked, commandOf, differing, recipes } from "../train/order.js";
import { Estimates } from "../train/estimates.js";

export const title = "Train";
const LEARNS = {
  counting: "counts once",
  passes: "in passes over the data",
  gradients: "by gradients",
};

/** Fill the page. */
export async function show(main, place, signal) {
  const from = place.query.get("from");
  const ask = (address) => get(address, { signal });
  const [{ datasets }, { tasks }, run] = await waiting(
    main,
    Promise.all([ask("/datasets"), ask("/tasks"), from && ask(at`/runs/${from}`)]),
    { height: 420 },
  );
  const task = tasks.find((one) => one.name === (run ? run.task : place.query.get("task")));
  if (!task) return main.append(...chooseFirst(tasks, datasets, place.query.get("data")));
  const found = await ask(at`/tasks/${task.name}/models`);
  if (run) return go(copied(run, task, found, datasets), { replace: true });
  new Form(main, { task, dataset: datasets.find((one) => one.id === place.query.get("data")), found, place, signal });
}

// Another run's settings, those that differ from the defaults, written into the address.
function copied(run, task, found, datasets) {
  const file = run.recipe.data.train;
  const dataset = datasets.find((one) => file?.includes(`/${one.id}/`));
  const settings = {
    ...differing(run.recipe, optionsOf(found, task, [run.model])),
    ...(!dataset && file && { "data.train": file }),
  };
  return `/train?${query({ dataset, task: run.task, models: [run.model], settings })}`;
}

function chooseFirst(tasks, datasets, data) {
  return [
    h("h1", "Train"),
    h(
      "p",
      "First choose data: ",
      h("a", { href: "/" }, "drop a file or take an example"),
      ", or one that is here already.",
    ),
    h(
      "ul",
      datasets.map((one) =>
        h("li", h("a", { href: path("data", one.id) }, one.name), h("span.muted", ` · ${bytes(one.bytes)}`)),
      ),
    ),
    h("h2", "Tasks"),
    facts(
      tasks.map(({ name, summary }) => [
        data ? h("a", { href: path("train", null, { data, task: name }) }, name) : name,
        summary,
      ]),
    ),
  ];
}

class Form {
  constructor(main, about) {
    Object.assign(this, about);
    const { place, found, task } = this;
    const asked = (place.query.get("models") ?? "")
      .split(",")
      .filter((name) => found.models.some((model) => model.name === name));
    this.choice = { task: task.name, data: this.dataset?.id, models: asked.length ? asked : firstModels(found.models) };
    this.options = optionsOf(found, task, this.choice.models);
    this.choice.settings = settingsOf(place.query, this.options);
    this.settingsBox = h(".stack");
    this.told = h("div");
    this.note = h("p.muted.small", { role: "status" });
    this.command = command("…");
    this.start = h(
      "button.primary",
      { id: "start", disabled: true, onclick: () => this.train() },
      icon("play"),
      "Start training",
    );
    const step = (number, words, ...children) =>
      h("section", { "aria-label": words }, h("h2.step", { dataset: { step: number } }, words), children);
    main.append(
      h("h1", "Train"),
      step(1, "Data", this.dataCard()),
      step(2, "Model", this.modelCards()),
      step(3, "Settings", this.settingsBox),
      h(
        "section.stack",
        this.told,
        h(".row", this.start, this.note),
        h("h3", "The same on the command line"),
        this.command,
      ),
    );
    this.drawSettings();
    this.check();
  }

  dataCard() {
    const { dataset, task } = this;
    const href = dataset && path("data", dataset.id, { task: task.name });
    const file = dataset
      ? h("a", { href }, dataset.name)
      : h("span.wrap", this.place.query.get("data.train") ?? "made by the task itself");
    return h(
      ".card.row.apart",
      h(
        "p",
        h("strong", file),
        h("span.muted", dataset && ` · ${bytes(dataset.bytes)}`, ` · task: ${task.name}`),
        h("br"),
        h("span.small", task.summary),
      ),
      h(".row", dataset && h("a.button.small", { href }, "Look at it"), h("a.button.small", { href: "/" }, "Change")),
    );
  }

  modelCards() {
    this.times = new Map(this.found.models.map(({ name }) => [name, h("span.number", { dataset: { time: "" } }, "…")]));
    const card = (model) =>
      h(
        "label.card.model-card",
        { dataset: { model: model.name } },
        h("input", {
          type: "checkbox",
          value: model.name,
          checked: this.choice.models.includes(model.name),
          onchange: () => this.choose(),
        }),
        h("strong", model.name, model.is_baseline && h("span.muted", " · the baseline")),
        h("p.small", model.summary),
        h("p.small.muted", LEARNS[model.learns], " · ", this.times.get(model.name)),
      );
    this.cards = h(".grid", this.found.models.map(card));
    return [
      h(
        "p.muted.small",
        "From simple to large. Tick one or several: they are trained one after another, and can then be compared.",
      ),
      this.cards,
    ];
  }

  choose() {
    this.choice.models = [...this.cards.querySelectorAll("input:checked")].map((box) => box.value);
    this.options = optionsOf(this.found, this.task, this.choice.models);
    set({ models: this.choice.models.join(",") }, { replace: true });
    this.drawSettings();
    this.check();
  }

  drawSettings() {
    const { models } = this.choice;
    const first = usual(
      this.options,
      this.found.models.filter((model) => models.includes(model.name)).map((model) => model.learns),
    );
    const rest = [...this.options.keys()].filter((name) => !first.includes(name));
    const more = h(".stack");
    const fields = (names) =>
      h(
        ".settings",
        names.map((name) =>
          field(this.options.get(name), this.choice.settings[name], models, (full, value) => this.change(full, value)),
        ),
      );
    const groups = () =>
      put(
        more,
        ["task", "data", "model", "training"].map((table) => {
          const own = rest.filter((name) => name.startsWith(`${table}.`));
          return own.length > 0 && h("fieldset", h("legend", capital(table)), fields(own));
        }),
      );
    // Some hundred fields: they are made when they are asked for.
    const fold = h(
      "details",
      { open: this.isOpen, ontoggle: () => (this.isOpen = fold.open) && !more.childElementCount && groups() },
      h("summary", count(rest.length, "more setting")),
      more,
    );
    put(this.settingsBox, fields(first), fold, this.tomlFold());
  }

  change(full, value) {
    if (value === null) delete this.choice.settings[full];
    else this.choice.settings[full] = value;
    set({ [full]: value === null ? null : String(value) }, { replace: true });
    this.soon(() => this.check());
  }

  // --- The full recipe ------------------------------------------------------------------------

  tomlFold() {
    const { models } = this.choice;
    this.tomlModel = h(
      "select",
      { id: "toml-model", onchange: () => this.fillToml() },
      models.map((name) => h("option", { value: name }, name)),
    );
    this.toml = h("textarea.mono.toml", {
      id: "toml",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": "The whole recipe",
      "aria-describedby": "toml-told",
      oninput: () => this.soon(() => this.takeToml()),
    });
    this.tomlTold = h("div", { id: "toml-told" });
    const isOpen = new URLSearchParams(location.search).has("all");
    return h(
      "details",
      { open: isOpen, ontoggle: (event) => set({ all: event.currentTarget.open ? "1" : null }, { replace: true }) },
      h("summary", "All settings (the whole recipe as TOML)"),
      h(
        ".stack",
        models.length > 1 && h(".row", h("label", { for: "toml-model" }, "Model"), this.tomlModel),
        this.toml,
        this.tomlTold,
      ),
    );
  }

  fillToml() {
    const answer = this.answers?.[this.choice.models.indexOf(this.tomlModel.value)];
    if (answer && document.activeElement !== this.toml) this.toml.value = answer.toml;
  }

  // What is typed is checked as it is; once it is right, what differs becomes settings.
  async takeToml() {
    try {
      const { tables } = await post("/recipes:check", { toml: this.toml.value }, { signal: this.signal });
      const settings = differing(tables, this.options);
      const before = this.choice.settings;
      const gone = Object.keys(before).filter((name) => this.options.has(name) && !(name in settings));
      this.choice.settings = { ...before, ...settings };
      for (const name of gone) delete this.choice.settings[name];
      set({ ...Object.fromEntries(gone.map((name) => [name, null])), ...settings }, { replace: true });
      this.toml.ariaInvalid = "false";
      put(this.tomlTold, h("p.good.small", icon("finished"), " This recipe is right."));
      this.check();
    } catch (problem) {
      if (left(problem)) return;
      this.toml.ariaInvalid = "true";
      put(this.tomlTold, problemBox(problem));
      this.close();
    }
  }

  // --- Checking and starting ------------------------------------------------------------------

  soon(act) {
    clearTimeout(this.typing);
    this.typing = setTimeout(act, 300);
  }

  async check() {
    const { models } = this.choice;
    if (!models.length) return this.close("Tick at least one model.");
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { answers, problem } = await checked(recipes(this.choice, this.options), this.signal);
    if (turn !== this.turn || this.signal.aborted) return;
    markWrong(this.settingsBox, problem);
    put(this.told, problem && problemBox(problem));
    if (problem) return this.close();
    this.answers = answers;
    this.start.disabled = false;
    this.fillToml();
    write(this.note, models.length > 1 ? `${models.length} models, one after another: ${models.join(", ")}.` : "");
    this.command.write(commandOf(answers));
    this.estimate();
  }

  // Those that are ticked first; a model is told its own settings only.
  estimate() {
    const ticked = this.choice.models;
    const names = [...ticked, ...[...this.times.keys()].filter((name) => !ticked.includes(name))];
    const bodies = recipes({ ...this.choice, models: names }, optionsOf(this.found, this.task, names));
    this.estimates ??= new Estimates(this.signal);
    this.estimates.want(bodies.map((body) => [body, this.times.get(body.model)]));
  }

  close(words = "Training can start once the problem above is solved.") {
    this.start.disabled = true;
    write(this.note, words);
  }

  async train() {
    this.close("Starting…");
    this.estimates?.stop();
    try {
      const { runs } = await post("/runs", { recipes: recipes(this.choice, this.options) }, { signal: this.signal });
      document.dispatchEvent(new CustomEvent("runs-changed"));
      go(path("run", runs.at(-1)));
    } catch (problem) {
      if (left(problem)) return;
      put(this.told, problemBox(problem));
      this.start.disabled = false;
      write(this.note, "");
    }
  }
}

// The simplest, and the first that learns by gradients: comparing with a simple model is the default.
function firstModels(models) {
  const simple = models.find((model) => model.is_baseline) ?? models.find((model) => model.learns !== "gradients");
  const others = models.filter((model) => model !== simple && !model.is_baseline);
  const other = others.find((model) => model.learns === "gradients") ?? others[0];
  return [...new Set([simple, other])].filter(Boolean).map((model) => model.name);
}
