// Look inside: one input, one token strip with a cursor, and a card for each view of the model.
import { clear, h } from "../dom.js";
import { get } from "../api.js";
import { currentRoute, onRouteChange, path, setQuery } from "../route.js";
import { onTheme } from "../theme.js";
import { shortcut } from "../keys.js";
import { toggleTable } from "../figures/figure.js";
import { card } from "../cards/card.js";
import { createCursors } from "../cards/cursors.js";
import { interventionBanner, replaceForm } from "../cards/interventions.js";
import { timeLapse } from "../cards/timelapse.js";
import { modelPicker, exampleChips } from "../cards/pickers.js";

export const title = (route) => (route.id ? `Inside ${route.id}` : "Look inside");
export const listens = true;

export async function show(main, route, signal) {
  if (!route.id) return modelPicker(main, "inside", "Look inside", "Choose a model to look inside.", signal);
  const model = await get(`/models/${encodeURIComponent(route.id)}`, { signal });
  // Without an input the page would be empty: it opens with an example of the test set.
  if (!route.query.has("text") && !route.query.has("step") && model.examples?.length)
    setQuery({ text: model.examples[0] }, { replace: true });
  const page = pageOf(model, signal);
  main.append(
    h("h1", "Inside ", h("span.wrap", model.id)),
    page.form,
    page.lapse.element,
    page.edits.element,
    page.stripLine,
    page.replace.element,
    page.jump,
    h(".inside", page.column, page.aside),
    page.missing,
  );
  page.start();
}

function pageOf(model, signal) {
  const query = () => currentRoute().query;
  const series = model.form === "forecast" || model.task === "forecast";
  const stripLine = h(".strip-line", { hidden: true });
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
    stripLine,
    column,
    aside,
    cache: new Map(),
    // Time series in snapshots are identified by name; the typed series stays in `text` during the time-lapse.
    input: () => (page.step() !== null ? { text: page.snapshotInput() } : { [series ? "series" : "text"]: text() }),
    snapshotInput: () => (series ? (query().get("probe") ?? "") : text()),
    snapshotQuery: (name, isFinal) => (series ? { probe: isFinal ? null : name } : { text: name }),
    edit: () => (page.step() === null ? page.edits.edit() : ""),
    edits: interventionBanner(query, () => {
      cursors.reset();
      reload();
      cards.forEach((one) => one.redraw());
    }),
    step: () => (query().has("step") ? Number(query().get("step")) : null),
    option: (view, name) =>
      query().get(`${view}.${name}`) ?? (["layer", "head", "cell"].includes(name) ? query().get(name) : null),
    choose(view, name, value) {
      setQuery({ [`${view}.${name}`]: value }, { replace: true });
      if (view === "cell" && name === "cell") cards.find((one) => one.view.view === "cell")?.load();
    },
    show(view, options) {
      setQuery(Object.fromEntries(Object.entries(options).map(([name, value]) => [`${view}.${name}`, value])));
      cards.find((one) => one.view.view === view)?.load();
      document.getElementById(`card-${view}`)?.scrollIntoView({ block: "start" });
    },
    setTokens(json) {
      cursors.setTokens(json);
      updateReplaceForm();
    },
    curl: (view, body) =>
      `curl -s ${location.origin}/api/v1/models/${encodeURIComponent(model.id)}/views/${view} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    python: (view, body) => pythonOf(model, view, body),
  };
  const cursors = createCursors({
    line: stripLine,
    moved: () => {
      cards.forEach((one) => one.follow());
      updateValues();
      updateReplaceForm();
    },
  });
  page.cursors = cursors;
  page.replace = replaceForm(page.edits, series);
  const updateReplaceForm = () =>
    page.replace.show(page.step() === null ? cursors.at("src") : null, cursors.token("src"));
  const cards = (model.views || []).map((view) => card(view, page));
  page.cards = cards;
  page.lapse = timeLapse(
    page,
    () => {
      form.value(text());
      cursors.reset();
      reload();
    },
    signal,
  );
  const form = inputForm(model, series, text, (value) => {
    setQuery({ text: value, at: null, to: null, step: null, probe: null, edit: null });
    cursors.reset();
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
        `Not available for this model: ${[...new Set(model.missing.map((one) => one.title.toLowerCase()))].join(", ")}.`,
      )
    : "";

  function updateValues() {
    const rows = cards.flatMap((one) => one.values());
    clear(valueList).append(...rows.flatMap(([name, value]) => [h("dt", name), h("dd", h("bdi", String(value)))]));
    valueCard.hidden = !rows.length;
  }
  const watcher = new IntersectionObserver(
    (entries) =>
      entries.forEach((entry) => {
        const one = cards.find((other) => other.element === entry.target);
        if (entry.isIntersecting && one) {
          one.isVisible = true;
          load(one);
        }
      }),
    { rootMargin: "500px" },
  );
  signal.addEventListener("abort", () => watcher.disconnect());

  async function load(one) {
    if (!text() && page.step() === null) return;
    await one.load();
    updateValues();
  }
  function reload() {
    page.lapse.update();
    page.edits.show();
    for (const one of cards) if (one.isVisible) load(one);
  }
  function jumpTo(event, one) {
    event.preventDefault();
    setQuery({ view: one.view.view }, { replace: true });
    one.element.scrollIntoView({ block: "start" });
  }
  page.start = () => {
    if (!cards.length) {
      column.append(h("p.card", "This model has no views."));
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
    page.edits.show();
    const wanted = query().get("view");
    if (wanted)
      requestAnimationFrame(() => document.getElementById(`card-${wanted}`)?.scrollIntoView({ block: "start" }));
    onTheme(() => cards.forEach((one) => one.redraw()), { signal });
    onRouteChange(
      (route, how) => {
        if (how !== "back" || route.page !== "inside" || route.id !== model.id) return;
        form.value(text());
        cursors.reset();
        reload();
      },
      { signal },
    );
    shortcut("/", "Focus the input", () => form.focus(), { signal });
    shortcut(
      "t",
      "Table of the focused figure, or of the first",
      () => toggleTable(document.activeElement?.closest(".figure") || column.querySelector(".figure")),
      { signal },
    );
  };
  return page;
}

/** A text field: Enter submits, Shift+Enter is a new line; examples of the test set as chips. */
function inputForm(model, series, text, send) {
  const field = h("textarea", {
    id: "inside-text",
    class: "mono",
    dir: "auto",
    rows: series ? 4 : 2,
    value: text(),
    placeholder: series ? "time,value\n2024-01,12.5\n2024-02,13.1" : "Type a text…",
  });
  const submit = () => {
    document.querySelector(".inside-empty")?.remove();
    send(field.value);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || series || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const element = h(
    "form.inside-form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          submit();
        },
      },
    },
    h("label", { for: "inside-text", class: "visually-hidden" }, series ? "Time series" : "Text"),
    field,
    h(
      ".row",
      h("button", { type: "submit", class: "primary" }, "Look inside"),
      exampleChips(model, "From the test set:", (example) => {
        field.value = example;
        submit();
      }),
      h("a.small", { href: path("try", model.id, { text: text() }) }, "Try it"),
    ),
  );
  return {
    element,
    focus: () => field.focus(),
    value: (content) => {
      field.value = content;
    },
  };
}

function emptyState(model, form, series) {
  const first = model.examples?.[0];
  return h(
    ".card.inside-empty",
    h(
      "p",
      series ? "Paste a time series as CSV above and press Look inside" : "Type a text above and press Enter",
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
              "use one from the test set",
            ),
          ]
        : "",
      ".",
    ),
  );
}

function pythonOf({ folder }, view, { text, series, ...options }) {
  const parameters = [
    series === undefined ? JSON.stringify(text) : 'file="series.csv"',
    ...Object.entries({ view, ...options }).map(([name, value]) => `${name}=${JSON.stringify(value)}`),
  ].join(", ");
  return `import seqloom\n\nrun = seqloom.load(${JSON.stringify(folder)})\nview = run.inspect(${parameters})\nprint(view.caption)\nview.save("${view}.svg")`;
}
