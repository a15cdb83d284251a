// Look inside: one input, one rail with one cursor, and a card for each thing the model records.
import { clear, h } from "../dom.js";
import { get } from "../api.js";
import { onChange, path, place as here, set } from "../address.js";
import { onTheme } from "../theme.js";
import { shortcut } from "../keys.js";
import { toggleTable } from "../figures/figure.js";
import { card } from "../cards/card.js";
import { cursorsOf } from "../cards/cursors.js";
import { editing, replacing } from "../cards/edits.js";
import { timeLapse } from "../cards/lapse.js";
import { chooseModel, exampleChips } from "../cards/choosing.js";

export const title = (now) => (now.id ? `Inside ${now.id}` : "Look inside");
export const listens = true;

export async function show(main, now, signal) {
  if (!now.id) return chooseModel(main, "inside", "Look inside", "Which model do you want to look into?", signal);
  const model = await get(`/models/${encodeURIComponent(now.id)}`, { signal });
  const page = pageOf(model, signal);
  main.append(
    h("h1", "Inside ", h("span.wrap", model.id)),
    page.form,
    page.lapse.element,
    page.edits.element,
    page.railLine,
    page.replace.element,
    page.jump,
    h(".inside", page.column, page.aside),
    page.missing,
  );
  page.start();
}

function pageOf(model, signal) {
  const query = () => here().query;
  const series = model.form === "forecast" || model.task === "forecast";
  const railLine = h(".rail-line", { hidden: true });
  const column = h(".inside-cards"),
    valueList = h("dl.facts.cursor-values");
  const valueCard = h(
    "section.card",
    { "aria-label": "Values at the cursor" },
    h("h2", "Values at the cursor"),
    valueList,
  );
  const aside = h("aside.inside-aside", valueCard);
  const text = () => query().get("text") ?? "";
  const page = {
    model,
    railLine,
    column,
    aside,
    kept: new Map(),
    // A series that was probed is known by its name alone; what was typed waits until it is over.
    input: () => (page.step() !== null ? { text: page.probe() } : { [series ? "series" : "text"]: text() }),
    probe: () => (series ? (query().get("probe") ?? "") : text()),
    probed: (name, isNow) => (series ? { probe: isNow ? null : name } : { text: name }),
    edit: () => (page.step() === null ? page.edits.edit() : ""),
    edits: editing(query, () => {
      cursors.forget();
      reload();
      cards.forEach((one) => one.redraw());
    }),
    step: () => (query().has("step") ? Number(query().get("step")) : null),
    option: (view, name) =>
      query().get(`${view}.${name}`) ?? (["layer", "head", "cell"].includes(name) ? query().get(name) : null),
    choose(view, name, value) {
      set({ [`${view}.${name}`]: value }, { replace: true });
      if (view === "cell" && name === "cell") cards.find((one) => one.view.view === "cell")?.load();
    },
    show(view, options) {
      set(Object.fromEntries(Object.entries(options).map(([name, value]) => [`${view}.${name}`, value])));
      cards.find((one) => one.view.view === view)?.load();
      document.getElementById(`card-${view}`)?.scrollIntoView({ block: "start" });
    },
    setTokens(json) {
      cursors.learn(json);
      tellCursor();
    },
    curl: (view, body) =>
      `curl -s ${location.origin}/api/v1/models/${encodeURIComponent(model.id)}/views/${view} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    python: (view, body) => pythonOf(model, view, body),
  };
  const cursors = cursorsOf({
    line: railLine,
    moved: () => {
      cards.forEach((one) => one.follow());
      tellValues();
      tellCursor();
    },
  });
  page.cursors = cursors;
  page.replace = replacing(page.edits, series);
  const tellCursor = () => page.replace.tell(page.step() === null ? cursors.at("src") : null, cursors.symbol("src"));
  const cards = (model.views || []).map((view) => card(view, page));
  page.cards = cards;
  page.lapse = timeLapse(
    page,
    () => {
      form.value(text());
      cursors.forget();
      reload();
    },
    signal,
  );
  const form = inputForm(model, series, text, (value) => {
    set({ text: value, at: null, to: null, step: null, probe: null, edit: null });
    cursors.forget();
    reload();
  });
  page.form = form.element;
  page.jump = h(
    "nav.jump",
    { "aria-label": "Cards" },
    ...cards.map((one) =>
      h(
        "a",
        { href: `#card-${one.view.view}`, on: { click: (event) => jumpTo(event, one) } },
        one.view.title || one.view.view,
      ),
    ),
  );
  page.missing = (model.missing || []).length
    ? h(
        "p.muted.missing",
        `Not shown for this model: ${[...new Set(model.missing.map((one) => one.title.toLowerCase()))].join(", ")}.`,
      )
    : "";

  function tellValues() {
    const rows = cards.flatMap((one) => one.values());
    clear(valueList).append(...rows.flatMap(([name, value]) => [h("dt", name), h("dd", h("bdi", String(value)))]));
    valueCard.hidden = !rows.length;
  }
  const watcher = new IntersectionObserver(
    (entries) =>
      entries.forEach((entry) => {
        const one = cards.find((found) => found.element === entry.target);
        if (entry.isIntersecting && one) {
          one.seen = true;
          load(one);
        }
      }),
    { rootMargin: "500px" },
  );
  signal.addEventListener("abort", () => watcher.disconnect());

  async function load(one) {
    if (!text() && page.step() === null) return;
    await one.load();
    tellValues();
  }
  function reload() {
    page.lapse.tell();
    page.edits.tell();
    for (const one of cards) if (one.seen) load(one);
  }
  function jumpTo(event, one) {
    event.preventDefault();
    set({ view: one.view.view }, { replace: true });
    one.element.scrollIntoView({ block: "start" });
  }
  page.start = () => {
    if (!cards.length) {
      column.append(h("p.card", "This model records nothing that could be shown."));
      return;
    }
    if (!text()) column.append(emptyState(model, form, series));
    for (const one of cards) {
      (one.view.view === "next" && cards.length > 1 ? aside : column)[one.view.view === "next" ? "prepend" : "append"](
        one.element,
      );
      watcher.observe(one.element);
    }
    valueCard.hidden = true;
    page.edits.tell();
    const wanted = query().get("view");
    if (wanted)
      requestAnimationFrame(() => document.getElementById(`card-${wanted}`)?.scrollIntoView({ block: "start" }));
    onTheme(() => cards.forEach((one) => one.redraw()), { signal });
    onChange(
      (now, how) => {
        if (how !== "back" || now.page !== "inside" || now.id !== model.id) return;
        form.value(text());
        cursors.forget();
        reload();
      },
      { signal },
    );
    shortcut("/", "Put the cursor into the input", () => form.focus(), { signal });
    shortcut(
      "t",
      "Table of the figure with the focus, or of the first",
      () => toggleTable(document.activeElement?.closest(".figure") || column.querySelector(".figure")),
      { signal },
    );
  };
  return page;
}

/** One text field; Enter looks, Shift+Enter is a new line; examples of the test part as chips. */
function inputForm(model, series, text, send) {
  const field = h("textarea", {
    id: "inside-text",
    class: "mono",
    dir: "auto",
    rows: series ? 4 : 2,
    value: text(),
    placeholder: series ? "time,value\n2024-01,12.5\n2024-02,13.1" : "Type a text…",
  });
  const look = () => {
    document.querySelector(".inside-empty")?.remove();
    send(field.value);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || series || event.isComposing) return;
    event.preventDefault();
    look();
  });
  const element = h(
    "form.inside-form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          look();
        },
      },
    },
    h("label", { for: "inside-text", class: "unseen" }, series ? "A series of numbers" : "A text to look at"),
    field,
    h(
      ".row",
      h("button", { type: "submit", class: "primary" }, "Look inside"),
      exampleChips(model, "From the test part:", (example) => {
        field.value = example;
        look();
      }),
      h("a.small", { href: path("try", model.id, { text: text() }) }, "Try it"),
    ),
  );
  return {
    element,
    focus: () => field.focus(),
    value: (words) => {
      field.value = words;
    },
  };
}

function emptyState(model, form, series) {
  const first = model.examples?.[0];
  return h(
    ".card.inside-empty",
    h(
      "p",
      series ? "Paste a series as CSV above and press Look inside" : "Type a text above and press Enter",
      first
        ? [
            ", or ",
            h(
              "button",
              {
                class: "small",
                on: {
                  click: () => {
                    form.value(first);
                    form.element.requestSubmit();
                  },
                },
              },
              "use one from the test part",
            ),
          ]
        : "",
      ".",
    ),
  );
}

function pythonOf({ folder }, view, { text, series, ...options }) {
  const given = [
    series === undefined ? JSON.stringify(text) : 'file="series.csv"',
    ...Object.entries({ view, ...options }).map(([name, value]) => `${name}=${JSON.stringify(value)}`),
  ].join(", ");
  return `import seqloom\n\nrun = seqloom.load(${JSON.stringify(folder)})\npicture = run.inspect(${given})\nprint(picture.caption)\npicture.save("${view}.svg")`;
}
