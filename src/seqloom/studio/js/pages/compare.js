// Compare: what differs, who is better and how surely, curves over seconds, one input through all
// models, where each wins, and what each costs.
import { clear, h } from "../dom.js";
import { events, get, left, post, problemBox } from "../api.js";
import { go, path, place as here, set } from "../address.js";
import { categoryVariable, signed } from "../colours.js";
import { bars } from "../figures/bars.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { signedLegend } from "../figures/matrix.js";
import { muted } from "../figures/parts.js";
import { rail } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/symbols.js";
import { check, choice } from "../cards/controls.js";
import { bitsOf } from "../cards/time.js";
import { points, Story } from "../run/story.js";
import { waiting } from "../shell/waiting.js";
import { bytes, duration, number } from "../shell/words.js";

export const title = "Compare";

const COSTS = [["numbers learned", "learned", number], ["size", "bytes", bytes], ["training", "training_seconds", duration], ["ms per example", "milliseconds_per_example", number]];

export async function show(main, now, signal) {
  const { runs } = await get("/runs", { signal }), able = runs.filter((run) => run.has_weights);
  const chosen = (now.query.get("runs") || "").split(",").map((id) => able.find((run) => run.id === id)).filter(Boolean);
  main.append(h("h1", "Compare"), picker(able, chosen));
  if (chosen.length < 2) return void main.append(emptyState(able.length, chosen.length));
  const sections = ["Metrics", "Curves", "The same input"].map((name) => h("section", { "aria-label": name }));
  main.append(...sections);
  drawCurves(sections[1], chosen, signal);
  sameInput(sections[2], chosen, signal);
  return judge(sections[0], chosen, signal);
}

function picker(able, chosen) {
  const to = (runs) => go(path("compare", null, { runs: runs.map((run) => run.id).join(",") }));
  const others = able.filter((run) => !chosen.includes(run) && run.task === (chosen[0] ?? run).task);
  return h(".row", chosen.map((run) => h("span.chosen-run", h("a", { href: path("run", run.id) }, run.id), h("button", { class: "quiet small", "aria-label": `Take ${run.id} away`, on: { click: () => to(chosen.filter((one) => one !== run)) } }, "✕"))),
    others.length > 0 && h("select", { "aria-label": "Add a run", on: { change: (event) => to([...chosen, able.find((run) => run.id === event.target.value)]) } }, h("option", { value: "" }, "Add a run…"), others.map((run) => h("option", { value: run.id }, `${run.id} (${run.model})`))));
}

function emptyState(count, chosen) {
  const told = count < 2 ? ["There is no finished run yet.", "You have one."][count] : chosen ? "Pick one more." : `You have ${count}.`;
  return h(".card.compare-empty", h("p", `Pick two runs to compare. ${told} `, count < 2 && h("a", { href: count ? "/train" : "/" }, count ? "Train a baseline: it takes seconds" : "Train one first")));
}

async function judge(section, runs, signal) {
  clear(section);
  try {
    const found = await waiting(section, post("/compare", { runs: runs.map((run) => run.id), limit: 200 }, { signal }), { height: 260, sentence: "All runs answer the same examples; this takes a while the first time." });
    section.append(h("p.verdict", found.verdict), metricTable(found), h("ul.figure-notes", (found.notes || []).map((note) => h("li", note))), differences(found), whereItWins(found) || "");
  } catch (problem) {
    if (!left(problem)) section.append(problemBox(problem, () => judge(section, runs, signal)));
  }
}

/** Metrics with intervals, the best of each row marked by a star and in bold; then what each costs. */
function metricTable(found) {
  const row = (name, values, lower, show, low = []) => {
    const known = values.filter(Number.isFinite), best = lower === undefined || new Set(known).size < 2 ? NaN : Math[lower ? "min" : "max"](...known);
    return h("tr", h("th", { scope: "row" }, name), values.map((value, i) => h("td", { class: value === best ? "number best" : "number" }, value === best ? h("b", "★ ", show(value)) : show(value), low[i] && muted(` ${low[i]}`))));
  };
  const names = Object.keys(found.runs[0].metrics).filter((name) => found.runs.every((run) => run.metrics[name]));
  const metrics = names.map((name) => {
    const about = found.metrics?.[name] || {}, measured = found.runs.map((run) => run.metrics[name]);
    const show = (value) => (Number.isFinite(value) ? (about.percent ? `${(100 * value).toFixed(2)} %` : short(value, 4)) : "–");
    return row(about.title || name, measured.map((one) => one.value), about.lower_is_better, show, measured.map(({ low, high }) => (low == null ? "" : `${show(low)} to ${show(high)}`)));
  });
  return h(".table-box", h("table.compare-table", h("caption", `${number(found.n)} examples (${found.examples}); in grey the 95 % interval; ★ the best of its row`),
    h("thead", h("tr", ["", ...found.runs.map((run) => run.name)].map((name) => h("th", { scope: "col", class: name && "number" }, name)))), h("tbody", metrics),
    h("tbody.cost", h("tr", h("th", { colspan: found.runs.length + 1, scope: "colgroup" }, "What it costs")), COSTS.map(([name, key, show]) => row(name, found.runs.map((run) => run[key]), true, show)))));
}

function differences(found) {
  const all = here().query.get("all") === "yes", rows = Object.entries(found.differences), isShared = ([, values]) => values.every((value) => value !== null);
  const cell = (value) => h("td", value == null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const table = (lines, kind) => h(".table-box", h("table", h("thead", h("tr", ["setting", ...found.runs.map((run) => run.name)].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", lines.map(([name, values]) => h("tr", { class: kind }, h("th", { scope: "row" }, name), values.map(cell))))));
  const alone = rows.filter((row) => !isShared(row)), shared = rows.filter(isShared);
  const box = h("section.differs", h(".row.apart", h("h2", "What differs"), check("all settings", all, (on) => { set({ all: on ? "yes" : null }, { replace: true }); box.replaceWith(differences(found)); }, "all")),
    shared.length > 0 ? table(shared, "differing") : h("p.muted", "No setting that all of them have differs."),
    alone.length > 0 && h("details", h("summary", `${alone.length} settings that not all of them have`), table(alone, "differing alone")),
    all && [h("h3", "The same in all"), table(Object.entries(found.equal).map(([name, value]) => [name, found.runs.map(() => value)]), "muted")]);
  return box;
}

function whereItWins(found) {
  const looks = Object.entries(found.where || {});
  return looks.length > 0 && h("section.where", h("h2", "Where does each win?"), h(".grid.wide", looks.map(([kind, look]) => {
    const most = look.percent ? 1 : Math.max(...look.groups.flatMap((group) => group.values.map((one) => one.value ?? 0)));
    const best = (group) => (group.best ? (group.certain ? `★ ${group.best}` : `${group.best}, perhaps by chance`) : "equal");
    return figure({
      id: `where-${kind}`, title: `By ${look.title}`, caption: look.sentence, json: look, legend: muted(`${look.metric_title}; ${look.lower_is_better ? "lower" : "higher"} is better`),
      drawing: h("div", look.groups.map((group) => h(".where-group", h("p.heat-name", h("bdi", group.title), muted(` ${group.n} · ${best(group)}`)), bars(group.values.map((one, i) => ({ name: one.run, value: one.value ?? 0, shown: one.shown, colour: categoryVariable(i) })), { most, plain: true })))),
      table: () => [[look.title, "n", ...found.runs.map((run) => run.name), "best"], ...look.groups.map((group) => [group.title, group.n, ...group.values.map((one) => one.shown), best(group)])],
    });
  })));
}

/** The curves of all runs on the validation part, over seconds unless another x is chosen. */
function drawCurves(section, runs, signal) {
  const stories = runs.map(() => new Story()), label = runs[0].metric_title || runs[0].metric;
  const draw = () => {
    const x = here().query.get("x") || "seconds", series = runs.map((run, i) => ({ name: run.id, dots: true, points: points(stories[i].evaluations, x, run.metric) }));
    const ends = series.filter((line) => line.points.length).map((line) => `${line.name} ends at ${short(line.points.at(-1)[1], 4)}`);
    clear(section).append(figure({
      id: "curves", title: "Curves", caption: ends.length ? `${label}: ${ends.join("; ")}.` : "No evaluation yet.", json: { x, series }, table: () => linesTable(series, x), drawing: lines({ series, x: { label: x }, y: { label }, height: 260 }),
      controls: h(".card-controls", choice("x axis", [["seconds", "seconds"], ["step", "steps"], ["symbols", "symbols"]], x, (wanted) => { set({ x: wanted === "seconds" ? null : wanted }, { replace: true }); draw(); })),
    }));
  };
  let timer = 0;
  const streams = runs.map((run, i) => {
    const hear = (event) => { stories[i].add(event); timer ||= setTimeout(() => { timer = 0; draw(); }, 250); };
    const stream = events(`/runs/${encodeURIComponent(run.id)}/events`, { start: hear, train: hear, eval: hear, resume: hear, state: ({ state }) => state !== "running" && setTimeout(() => stream.close(), 500) });
    return stream;
  });
  signal.addEventListener("abort", () => { clearTimeout(timer); streams.forEach((one) => one.close()); });
  draw();
}

/** One input through all models: what each answers, what surprises it, what it expects next. */
function sameInput(section, runs, signal) {
  const field = h("textarea", { id: "same-text", dir: "auto", rows: 2, value: here().query.get("text") ?? "", placeholder: "Type one input for all of them…" }), result = h(".columns");
  const ask = async (event) => {
    event?.preventDefault();
    set({ text: field.value }, { replace: true });
    if (!field.value) return;
    result.setAttribute("aria-busy", "true");
    try {
      const found = (await post("/compare:inputs", { runs: runs.map((run) => run.id), text: field.value }, { signal })).runs;
      clear(result).append(...found.map((one, i) => column(one, runs[i].id)), ...(found[0].surprise && found[1].surprise ? [difference(found, runs)] : []));
    } catch (problem) {
      if (!left(problem)) clear(result).append(problemBox(problem, ask));
    }
    result.removeAttribute("aria-busy");
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && ask(event));
  section.append(h("h2", "The same input, side by side"), h("form", { on: { submit: ask } }, h("label", { for: "same-text", class: "unseen" }, "One input for all"), field, h("p", h("button", { type: "submit" }, "Ask all"))), result);
  ask();
}

function column({ error: problem, output, surprise, next }, id) {
  if (problem) return h(".card.column", h("h3", id), problemBox({ message: problem.problem ?? problem.detail, ...problem }));
  const said = output?.output ?? output?.text ?? output, answer = Array.isArray(said) ? said.flat().join(" ") : said;
  return h(".card.column", { dataset: { run: id } }, h("h3", h("a", { href: path("inside", id, { text: here().query.get("text") }) }, id)), answer != null && h("p.answer", { dir: "auto" }, String(answer)),
    surprise && [h("p.muted.small", surprise.caption), rail({ tokens: surprise.tokens.src, wrap: true, label: `surprise of ${id}`, paint: bitsOf(surprise) })],
    next && [h("h4", "Next"), bars(next.choices.slice(0, 5).map(({ symbol, p }) => ({ name: symbol, value: p })))]);
}

function difference([first, second], runs) {
  const tokens = first.surprise.tokens.src, bits = tokens.map((_, i) => (second.surprise.bits[i] ?? 0) - (first.surprise.bits[i] ?? 0)), sum = bits.reduce((total, value) => total + value, 0);
  return h(".card.column.difference", h("h3", "Difference"), h("p.muted.small", `${runs[0].id} needs ${short(Math.abs(sum), 3)} bits ${sum >= 0 ? "less" : "more"} in all than ${runs[1].id}.`),
    rail({ tokens, wrap: true, label: "difference of surprise", paint: (i) => ({ background: signed(bits[i] / 4, { behindText: true }), title: `${visible(tokens[i])}: ${short(bits[i], 3)} bits` }) }),
    h(".figure-legend", signedLegend(4, `bits: blue, ${runs[0].id} knows better`)));
}
