// Compare: what differs, who is better and how surely, curves over seconds, one input through all
// models, where each wins, and what each costs.
import { clear, h } from "../dom.js";
import { events, get, left, post, problemBox } from "../api.js";
import { go, path, place as here, set } from "../address.js";
import { shade, signed } from "../colours.js";
import { bars } from "../figures/bars.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { rampLegend } from "../figures/matrix.js";
import { rail } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/symbols.js";
import { choice } from "../cards/controls.js";
import { waiting } from "../shell/waiting.js";
import { bytes, duration } from "../shell/words.js";

export const title = "Compare";

export async function show(main, now, signal) {
  const { runs } = await get("/runs", { signal });
  const able = runs.filter((run) => run.has_weights), chosen = (now.query.get("runs") || "").split(",").filter((id) => runs.some((run) => run.id === id));
  main.append(h("h1", {}, "Compare"), picker(able, chosen));
  if (chosen.length < 2) { main.append(emptyState(able, chosen)); return; }
  const rows = chosen.map((id) => runs.find((run) => run.id === id));
  const judged = h("section", { "aria-label": "Metrics" }), curves = h("section", { "aria-label": "Curves" }), same = h("section", { "aria-label": "The same input" });
  main.append(judged, curves, same);
  drawCurves(curves, rows, signal);
  sameInput(same, rows, signal);
  await judge(judged, chosen, signal);
}

function picker(able, chosen) {
  const add = h("select", { "aria-label": "Add a run", on: { change: () => go(path("compare", null, { runs: [...chosen, add.value].join(",") })) } }, h("option", { value: "" }, "Add a run…"),
    ...able.filter((run) => !chosen.includes(run.id) && (!chosen.length || run.task === able.find((one) => one.id === chosen[0])?.task)).map((run) => h("option", { value: run.id }, `${run.id} (${run.model})`)));
  return h("div", { class: "row" }, ...chosen.map((id) => h("span", { class: "chosen-run" }, h("a", { href: path("run", id) }, id), h("button", { type: "button", class: "quiet small", "aria-label": `Take ${id} away`, on: { click: () => go(path("compare", null, { runs: chosen.filter((one) => one !== id).join(",") })) } }, "✕"))), able.length > chosen.length && add);
}

function emptyState(able, chosen) {
  const count = able.length;
  const told = count === 0 ? "There is no finished run yet." : count === 1 ? "You have one." : chosen.length ? "Pick one more." : `You have ${count}.`;
  return h("div", { class: "card compare-empty" }, h("p", {}, `Pick two runs to compare. ${told} `, count < 2 && h("a", { href: count ? "/train" : "/" }, count ? "Train a baseline: it takes seconds" : "Train one first")));
}

async function judge(section, runs, signal) {
  try {
    const box = h("div", {});
    section.append(box);
    const found = await waiting(box, post("/compare", { runs, limit: 200 }, { signal }), { height: 260, sentence: "All runs answer the same examples; this takes a while the first time." });
    clear(section).append(h("p", { class: "verdict" }, found.verdict), metricTable(found), whereItWins(found), differences(found), h("ul", { class: "figure-notes" }, ...(found.notes || []).map((note) => h("li", {}, note))));
  } catch (problem) {
    if (!left(problem)) clear(section).append(problemBox(problem, () => { clear(section); judge(section, runs, signal); }));
  }
}

/** Metrics with intervals, the best of each row marked by a star and in bold; cost rows below. */
function metricTable(found) {
  const names = Object.keys(found.runs[0].metrics).filter((name) => found.runs.every((run) => run.metrics[name]));
  const shown = (about, value) => (value === null || !Number.isFinite(value) ? "–" : about.percent ? `${(100 * value).toFixed(2)} %` : short(value, 4));
  const row = (name, values, lower, cells) => {
    const known = values.filter((value) => Number.isFinite(value)), best = lower === undefined || new Set(known).size < 2 ? null : lower ? Math.min(...known) : Math.max(...known);
    return h("tr", {}, h("th", { scope: "row" }, name), ...values.map((value, i) => h("td", { class: value === best ? "number best" : "number" }, value === best ? h("b", {}, "★ ", cells[i][0]) : cells[i][0], cells[i][1] && h("span", { class: "muted small" }, ` ${cells[i][1]}`))));
  };
  const body = names.map((name) => {
    const about = found.metrics?.[name] || { title: name }, measured = found.runs.map((run) => run.metrics[name]);
    return row(about.title || name, measured.map((one) => one.value), about.lower_is_better, measured.map((one) => [shown(about, one.value), one.low === null ? "" : `${shown(about, one.low)} to ${shown(about, one.high)}`]));
  });
  const cost = [["numbers learned", "learned", (value) => value.toLocaleString("en")], ["size", "bytes", bytes], ["training", "training_seconds", duration], ["ms per example", "milliseconds_per_example", (value) => short(value, 3)]]
    .map(([name, key, show]) => row(name, found.runs.map((run) => run[key]), true, found.runs.map((run) => [run[key] == null ? "–" : show(run[key]), ""])));
  return h("div", { class: "table-box" }, h("table", { class: "compare-table" }, h("caption", {}, `${found.n.toLocaleString("en")} ${found.examples || "examples"}; in grey the 95 % interval; ★ the best of its row`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, ""), ...found.runs.map((run) => h("th", { scope: "col", class: "number" }, run.name)))),
    h("tbody", {}, ...body), h("tbody", { class: "cost" }, h("tr", {}, h("th", { colspan: found.runs.length + 1, scope: "colgroup" }, "What it costs")), ...cost)));
}

function differences(found) {
  const all = here().query.get("all") === "yes", rows = Object.entries(found.differences);
  const cell = (value) => h("td", {}, value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const toggle = h("label", { class: "check" }, h("input", { type: "checkbox", checked: all, on: { change: (event) => { set({ all: event.target.checked ? "yes" : null }, { replace: true }); box.replaceWith(differences(found)); } } }), "all settings");
  const box = h("section", { class: "differs" }, h("div", { class: "row apart" }, h("h2", {}, "What differs"), toggle),
    rows.length || all ? h("div", { class: "table-box" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "setting"), ...found.runs.map((run) => h("th", { scope: "col" }, run.name)))),
      h("tbody", {}, ...rows.map(([name, values]) => h("tr", { class: "differing" }, h("th", { scope: "row" }, name), ...values.map(cell))), ...(all ? Object.entries(found.equal).map(([name, value]) => h("tr", { class: "muted" }, h("th", { scope: "row" }, name), ...found.runs.map(() => cell(value)))) : []))))
      : h("p", { class: "muted" }, "No setting differs."));
  return box;
}

function whereItWins(found) {
  const looks = Object.entries(found.where || {});
  if (!looks.length) return "";
  return h("section", { class: "where" }, h("h2", {}, "Where does each win?"), h("div", { class: "grid wide" }, ...looks.map(([kind, look]) => {
    const most = look.percent ? 1 : Math.max(...look.groups.flatMap((group) => group.values.map((one) => one.value ?? 0)));
    const drawing = h("div", { class: "where-groups" }, ...look.groups.map((group) => h("div", { class: "where-group" }, h("p", { class: "heat-name" }, h("bdi", {}, group.title), h("span", { class: "muted" }, ` ${group.n} · ${group.best ? (group.certain ? `★ ${group.best}` : `${group.best}, perhaps by chance`) : "equal"}`)),
      bars(group.values.map((one) => ({ name: one.run, value: one.value ?? 0, shown: one.shown })), { most, plain: true, show: (value) => group.values.find((one) => (one.value ?? 0) === value)?.shown ?? short(value) }))));
    return figure({ id: `where-${kind}`, view: `where-${kind}`, title: `By ${look.title}`, caption: look.sentence, drawing, json: look,
      table: () => [[look.title, "n", ...found.runs.map((run) => run.name), "best"], ...look.groups.map((group) => [group.title, group.n, ...group.values.map((one) => one.shown), group.best ? `${group.best}${group.certain ? "" : " (perhaps chance)"}` : "equal"])],
      legend: h("span", { class: "muted" }, `${look.metric_title}; ${look.lower_is_better ? "lower" : "higher"} is better`) });
  })));
}

/** The validation curves of all runs, over seconds unless another x is chosen. */
function drawCurves(section, rows, signal) {
  const found = new Map(rows.map((run) => [run.id, []]));
  const x = () => here().query.get("x") || "seconds";
  const value = (event) => event.metrics?.[rows[0].metric] ?? event[rows[0].metric] ?? event.value;
  const series = () => rows.map((run, i) => ({ name: run.id, colour: i, dots: true, points: found.get(run.id).map((event) => [event[x()] ?? event.step, value(event)]).filter(([, y]) => Number.isFinite(y)) }));
  const label = rows[0].metric_title || rows[0].metric || "metric";
  const box = h("div", {});
  const draw = () => {
    const shown = series(), caption = sentence(shown, label);
    const switcher = choice("x axis", [["seconds", "seconds"], ["step", "steps"], ["symbols", "symbols"]], x(), (wanted) => { set({ x: wanted === "seconds" ? null : wanted }, { replace: true }); draw(); });
    clear(box).append(figure({ id: "curves", view: "curves", title: "Curves", caption, controls: h("div", { class: "card-controls" }, switcher), json: { x: x(), series: shown },
      drawing: lines({ series: shown, x: { label: x(), scale: "linear" }, y: { label, scale: "linear" }, height: 260 }), table: () => linesTable(shown, x()) }));
  };
  section.append(box);
  let timer = 0;
  const streams = rows.map((run) => events(`/runs/${encodeURIComponent(run.id)}/events?kinds=evaluation,resume`, {
    evaluation(event) {
      found.get(run.id).push(event);
      timer ||= setTimeout(() => { timer = 0; draw(); }, 250);
    },
    resume(event) { found.set(run.id, found.get(run.id).filter((one) => one.step <= event.step)); },
    state({ state }) { if (state !== "running") streams.find((one) => one.id === run.id)?.close?.(); },
  }));
  signal.addEventListener("abort", () => { clearTimeout(timer); streams.forEach((one) => one.close()); });
  draw();
}

function sentence(shown, label) {
  const ends = shown.filter((line) => line.points.length).map((line) => `${line.name} ends at ${short(line.points[line.points.length - 1][1], 4)}`);
  return ends.length ? `${label}: ${ends.join("; ")}.` : "No evaluation yet.";
}

/** One input through all models: what each answers, what surprises it, what it expects next. */
function sameInput(section, rows, signal) {
  const field = h("textarea", { id: "same-text", dir: "auto", rows: 2, value: here().query.get("text") ?? "", placeholder: "Type one input for all of them…" });
  const result = h("div", { class: "columns" });
  const ask = async () => {
    set({ text: field.value }, { replace: true });
    if (!field.value) return;
    result.setAttribute("aria-busy", "true");
    try {
      const answer = await post("/compare:inputs", { runs: rows.map((run) => run.id), text: field.value }, { signal });
      const found = answer.runs || answer;
      const list = Array.isArray(found) ? found : rows.map((run) => ({ run: run.id, ...found[run.id] }));
      clear(result).append(...list.map((one, i) => column(one, rows[i])), list.length >= 2 && list[0].surprise && list[1].surprise ? difference(list) : "");
    } catch (problem) {
      if (!left(problem)) clear(result).append(problemBox(problem, ask));
    } finally { result.removeAttribute("aria-busy"); }
  };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); ask(); } });
  section.append(h("h2", {}, "The same input, side by side"), h("form", { on: { submit: (event) => { event.preventDefault(); ask(); } } }, h("label", { for: "same-text", class: "unseen" }, "One input for all"), field, h("p", {}, h("button", { type: "submit" }, "Ask all"))), result);
  if (field.value) ask();
}

function column(one, run) {
  if (one.problem || one.error) return h("div", { class: "card column" }, h("h3", {}, run.id), problemBox({ message: (one.problem || one.error).problem || String(one.problem || one.error), ...(one.problem || one.error) }));
  const { surprise } = one, tokens = surprise?.tokens?.src || surprise?.tokens;
  const output = one.output?.output ?? one.output?.text ?? one.output;
  const answer = Array.isArray(output) ? output.map((part) => (Array.isArray(part) ? part.join("/") : part)).join(" ") : output;
  return h("div", { class: "card column", dataset: { run: run.id } }, h("h3", {}, h("a", { href: path("inside", run.id, { text: here().query.get("text") }) }, run.id)),
    answer !== undefined && answer !== null && h("p", { class: "answer", dir: "auto" }, String(answer)),
    surprise && [h("p", { class: "muted small" }, surprise.caption || `${short(surprise.mean, 3)} bits a symbol`), rail({ tokens, wrap: true, label: `surprise of ${run.id}`, paint: (i) => ({ background: surprise.bits[i] === null ? "" : shade(surprise.bits[i] / 8), title: `${visible(tokens[i])}: ${short(surprise.bits[i], 3)} bits` }) })],
    one.next && [h("h4", {}, "Next"), bars((one.next.choices || one.next).slice(0, 5).map((found) => ({ name: found.symbol ?? found[0], value: found.p ?? found[1] })))]);
}

function difference([first, second]) {
  const tokens = first.surprise.tokens.src, bits = tokens.map((_, i) => (second.surprise.bits[i] ?? 0) - (first.surprise.bits[i] ?? 0));
  const sum = bits.reduce((total, value) => total + value, 0);
  return h("div", { class: "card column difference" }, h("h3", {}, "Difference"), h("p", { class: "muted small" }, `${first.run ?? "the first"} needs ${short(Math.abs(sum), 3)} bits ${sum >= 0 ? "less" : "more"} in all than ${second.run ?? "the second"}.`),
    rail({ tokens, wrap: true, label: "difference of surprise", paint: (i) => ({ background: signed(bits[i] / 4, { behindText: true }), title: `${visible(tokens[i])}: ${short(bits[i], 3)} bits` }) }),
    h("div", { class: "figure-legend" }, rampLegend("signed", -4, 4, "bits: blue, the first knows better")));
}
