// What a comparison says in numbers: metrics and costs, settings that differ, and where each run wins.
import { h } from "../dom.js";
import { place as here, set } from "../address.js";
import { check } from "../cards/controls.js";
import { categoryVariable } from "../colours.js";
import { bars } from "../figures/bars.js";
import { figure } from "../figures/figure.js";
import { muted } from "../figures/parts.js";
import { short } from "../figures/scales.js";
import { bytes, duration, number } from "../shell/words.js";

const COSTS = [
  ["numbers learned", "learned", number],
  ["size", "bytes", bytes],
  ["training", "training_seconds", duration],
  ["ms per example", "milliseconds_per_example", number],
];

/** Metrics with intervals, the best of each row marked by a star and in bold; then what each costs. */
export function metricTable(found) {
  const row = (name, values, lower, show, low = []) => {
    const known = values.filter(Number.isFinite),
      best = lower === undefined || new Set(known).size < 2 ? NaN : Math[lower ? "min" : "max"](...known);
    return h(
      "tr",
      h("th", { scope: "row" }, name),
      values.map((value, i) =>
        h(
          "td",
          { class: value === best ? "number best" : "number" },
          value === best ? h("b", "★ ", show(value)) : show(value),
          low[i] && muted(` ${low[i]}`),
        ),
      ),
    );
  };
  const names = Object.keys(found.runs[0].metrics).filter((name) => found.runs.every((run) => run.metrics[name]));
  const metrics = names.map((name) => {
    const about = found.metrics?.[name] || {},
      measured = found.runs.map((run) => run.metrics[name]);
    const show = (value) =>
      Number.isFinite(value) ? (about.percent ? `${(100 * value).toFixed(2)} %` : short(value, 4)) : "–";
    return row(
      about.title || name,
      measured.map((one) => one.value),
      about.lower_is_better,
      show,
      measured.map(({ low, high }) => (low == null ? "" : `${show(low)} to ${show(high)}`)),
    );
  });
  return h(
    ".table-box",
    h(
      "table.compare-table",
      h("caption", `${number(found.n)} examples (${found.examples}); in grey the 95 % interval; ★ the best of its row`),
      h(
        "thead",
        h(
          "tr",
          ["", ...found.runs.map((run) => run.name)].map((name) =>
            h("th", { scope: "col", class: name && "number" }, name),
          ),
        ),
      ),
      h("tbody", metrics),
      h(
        "tbody.cost",
        h("tr", h("th", { colspan: found.runs.length + 1, scope: "colgroup" }, "What it costs")),
        COSTS.map(([name, key, show]) =>
          row(
            name,
            found.runs.map((run) => run[key]),
            true,
            show,
          ),
        ),
      ),
    ),
  );
}

export function differences(found) {
  const all = here().query.get("all") === "yes",
    rows = Object.entries(found.differences),
    isShared = ([, values]) => values.every((value) => value !== null);
  const cell = (value) =>
    h("td", value == null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const table = (lines, kind) =>
    h(
      ".table-box",
      h(
        "table",
        h(
          "thead",
          h(
            "tr",
            ["setting", ...found.runs.map((run) => run.name)].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          lines.map(([name, values]) => h("tr", { class: kind }, h("th", { scope: "row" }, name), values.map(cell))),
        ),
      ),
    );
  const alone = rows.filter((row) => !isShared(row)),
    shared = rows.filter(isShared);
  const box = h(
    "section.differs",
    h(
      ".row.apart",
      h("h2", "What differs"),
      check(
        "all settings",
        all,
        (on) => {
          set({ all: on ? "yes" : null }, { replace: true });
          box.replaceWith(differences(found));
        },
        "all",
      ),
    ),
    shared.length > 0 ? table(shared, "differing") : h("p.muted", "No setting that all of them have differs."),
    alone.length > 0 &&
      h("details", h("summary", `${alone.length} settings that not all of them have`), table(alone, "differing alone")),
    all && [
      h("h3", "The same in all"),
      table(
        Object.entries(found.equal).map(([name, value]) => [name, found.runs.map(() => value)]),
        "muted",
      ),
    ],
  );
  return box;
}

export function whereItWins(found) {
  const looks = Object.entries(found.where || {});
  return (
    looks.length > 0 &&
    h(
      "section.where",
      h("h2", "Where does each win?"),
      h(
        ".grid.wide",
        looks.map(([kind, look]) => {
          const most = look.percent
            ? 1
            : Math.max(...look.groups.flatMap((group) => group.values.map((one) => one.value ?? 0)));
          const best = (group) =>
            group.best ? (group.certain ? `★ ${group.best}` : `${group.best}, perhaps by chance`) : "equal";
          return figure({
            id: `where-${kind}`,
            title: `By ${look.title}`,
            caption: look.sentence,
            json: look,
            legend: muted(`${look.metric_title}; ${look.lower_is_better ? "lower" : "higher"} is better`),
            drawing: h(
              "div",
              look.groups.map((group) =>
                h(
                  ".where-group",
                  h("p.heat-name", h("bdi", group.title), muted(` ${group.n} · ${best(group)}`)),
                  bars(
                    group.values.map((one, i) => ({
                      name: one.run,
                      value: one.value ?? 0,
                      shown: one.shown,
                      colour: categoryVariable(i),
                    })),
                    { most, plain: true },
                  ),
                ),
              ),
            ),
            table: () => [
              [look.title, "n", ...found.runs.map((run) => run.name), "best"],
              ...look.groups.map((group) => [
                group.title,
                group.n,
                ...group.values.map((one) => one.shown),
                best(group),
              ]),
            ],
          });
        }),
      ),
    )
  );
}
