// Tables of a comparison: metrics and costs, settings that differ, and metrics by group.
import { h } from "../dom.js";
import { currentRoute, setQuery } from "../route.js";
import { checkbox } from "../cards/controls.js";
import { categoryVariable } from "../colours.js";
import { bars } from "../figures/bars.js";
import { figure } from "../figures/figure.js";
import { muted } from "../figures/common.js";
import { short } from "../figures/scales.js";
import { bytes, count, duration, number } from "../shell/format.js";

const COSTS = [
  ["parameters", "learned", number],
  ["size", "bytes", bytes],
  ["training time", "training_seconds", duration],
  ["ms per example", "milliseconds_per_example", number],
];

const LOWER = { lower_is_better: true },
  TIE = 1e-9;

/**
 * Which values are the best of a row, by the direction of their metric, or by the distance from what it aims at: a
 * coverage of 80 % intervals is best at 80 %. Values that are shown as the best one is are as good; of equal ones
 * none is.
 */
export function bestOf(values, { lower_is_better: isLower, aim }, show = String) {
  const rank = (value) => (aim != null ? Math.abs(value - aim) : isLower ? value : -value),
    known = values.filter(Number.isFinite),
    least = Math.min(...known.map(rank)),
    isBest = (value) => rank(value) <= least + TIE,
    shown = new Set(known.filter(isBest).map((value) => show(value)));
  const found = values.map((value) => Number.isFinite(value) && (isBest(value) || shown.has(show(value))));
  return found.filter(Boolean).length < known.length ? found : values.map(() => false);
}

/** Metrics with confidence intervals, the best of each row with a star; then the costs. */
export function metricTable(comparison) {
  const row = (name, values, about, show, low = []) => {
    const best = bestOf(values, about, show);
    return h(
      "tr",
      h("th", { scope: "row" }, name),
      values.map((value, i) =>
        h(
          "td",
          { class: best[i] ? "number best" : "number" },
          best[i] ? h("b", "★ ", show(value)) : show(value),
          low[i] && muted(` ${low[i]}`),
        ),
      ),
    );
  };
  const isCommon = (name) => comparison.runs.every((run) => run.metrics[name]);
  const names = Object.keys(comparison.runs[0].metrics).filter(isCommon);
  const metrics = names.map((name) => {
    const about = comparison.metrics?.[name] || {},
      measured = comparison.runs.map((run) => run.metrics[name]);
    const show = (value) =>
      Number.isFinite(value) ? (about.percent ? `${(100 * value).toFixed(2)} %` : short(value, 4)) : "–";
    return row(
      about.title || name,
      measured.map((one) => one.value),
      about,
      show,
      measured.map(({ low, high }) => (low == null ? "" : `${show(low)} to ${show(high)}`)),
    );
  });
  return h(
    ".table-box",
    h(
      "table.compare-table",
      h(
        "caption",
        `${count(comparison.n, "example")} (${comparison.examples}); grey: 95 % confidence interval; ★: the best of its row`,
      ),
      h(
        "thead",
        h(
          "tr",
          ["", ...comparison.runs.map((run) => run.name)].map((name) =>
            h("th", { scope: "col", class: name && "number" }, name),
          ),
        ),
      ),
      h("tbody", metrics),
      h(
        "tbody.cost",
        h("tr", h("th", { colspan: comparison.runs.length + 1, scope: "colgroup" }, "Costs")),
        COSTS.map(([name, key, show]) =>
          row(
            name,
            comparison.runs.map((run) => run[key]),
            LOWER,
            show,
          ),
        ),
      ),
    ),
  );
}

/** Settings that differ between the runs; with `all` in the URL, also the equal ones. */
export function settingsDiff(comparison) {
  const all = currentRoute().query.get("all") === "yes",
    rows = Object.entries(comparison.differences),
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
            ["setting", ...comparison.runs.map((run) => run.name)].map((name) => h("th", { scope: "col" }, name)),
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
      h("h2", "Settings that differ"),
      checkbox(
        "all settings",
        all,
        (on) => {
          setQuery({ all: on ? "yes" : null }, { replace: true });
          box.replaceWith(settingsDiff(comparison));
        },
        "all",
      ),
    ),
    shared.length > 0 ? table(shared, "differing") : h("p.muted", "All common settings are equal."),
    alone.length > 0 &&
      h("details", h("summary", `${alone.length} settings that only some runs have`), table(alone, "differing alone")),
    all && [
      h("h3", "Equal settings"),
      table(
        Object.entries(comparison.equal).map(([name, value]) => [name, comparison.runs.map(() => value)]),
        "muted",
      ),
    ],
  );
  return box;
}

/** Metrics by group of examples: by length, by label, by known and unknown tokens. */
export function metricsByGroup(comparison) {
  const breakdowns = Object.entries(comparison.where || {});
  return (
    breakdowns.length > 0 &&
    h(
      "section.where",
      h("h2", "Metrics by group"),
      h(
        ".grid.wide",
        breakdowns.map(([kind, breakdown]) => {
          const most = breakdown.percent
            ? 1
            : Math.max(...breakdown.groups.flatMap((group) => group.values.map((one) => one.value ?? 0)));
          const best = (group) =>
            group.best ? (group.certain ? `★ ${group.best}` : `${group.best}, not significant`) : "equal";
          return figure({
            id: `where-${kind}`,
            title: `By ${breakdown.title}`,
            caption: breakdown.sentence,
            json: breakdown,
            legend: muted(`${breakdown.metric_title}; ${breakdown.lower_is_better ? "lower" : "higher"} is better`),
            drawing: h(
              "div",
              breakdown.groups.map((group) =>
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
              [breakdown.title, "n", ...comparison.runs.map((run) => run.name), "best"],
              ...breakdown.groups.map((group) => [
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
