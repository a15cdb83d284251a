// The health of a training, in words that are computed from its events.

import { count, number, percent } from "../shell/words.js";

const EXPLODING = 100;
const VANISHING = 1e-5;
const RECENT = 50;

/** Sentences: [{level: "good" | "warning" | "problem" | "note", text, help?}…]. */
export function health(story, training = {}, metric = {}) {
  return [
    ...validation(story, training, metric),
    ...learningByHeart(story),
    ...gradients(story, training),
    ...warnings(story),
    ...continued(story),
    ...notes(story),
  ];
}

function validation(story, training, metric) {
  const evaluations = story.evaluations;
  const best = story.best;
  if (!best) return story.end ? [] : [{ level: "note", text: "No evaluation yet." }];
  const since = evaluations.length - 1 - evaluations.indexOf(best);
  const value = metric.name && Number.isFinite(best[metric.name]) ? ` (${metric.title ?? metric.name} ${number(best[metric.name])})` : "";
  if (since === 0) return [{ level: "good", text: `The last evaluation, at step ${number(best.step)}, is the best so far${value}.` }];
  const waited = evaluations.at(-1).step - best.step;
  const text = `Validation stopped improving ${count(waited, "step")} ago: the best was at step ${number(best.step)}${value}.`;
  return [{ level: since > 2 ? "warning" : "note", text: `${text}${patience(training.patience, since, story.end)}` }];
}

function patience(limit, since, end) {
  if (end?.reason === "no improvement") return " Early stopping has ended the training.";
  if (end) return "";
  if (!limit) return " Early stopping is off (training.patience = 0).";
  return ` Early stopping will end it after ${count(Math.max(0, limit - since), "more evaluation")} without improvement.`;
}

// Training goes on falling while validation rises: said once it has lasted three evaluations.
function learningByHeart(story) {
  const evaluations = story.evaluations.filter((event) => Number.isFinite(event.loss));
  if (evaluations.length < 4) return [];
  const lowest = evaluations.reduce((a, b) => (b.loss < a.loss ? b : a));
  const after = evaluations.slice(evaluations.indexOf(lowest) + 1);
  if (after.length < 3 || after.at(-1).loss < 1.02 * lowest.loss) return [];
  const train = story.of("train").filter((event) => Number.isFinite(event.loss));
  const before = train.findLast((event) => event.step <= lowest.step);
  const now = train.at(-1);
  if (!before || !now || now.loss >= before.loss) return [];
  return [{ level: "warning", text: `Since step ${number(lowest.step)} the validation loss rises (${number(lowest.loss)} to ${number(after.at(-1).loss)}) while the training loss falls: it begins to learn by heart. More dropout or more data help.` }];
}

function gradients(story, training) {
  const train = story.of("train").filter((event) => Number.isFinite(event.gradient));
  if (!train.length) return [];
  const recent = train.slice(-RECENT);
  const largest = train.reduce((a, b) => (b.gradient > a.gradient ? b : a));
  const clip = training.clip;
  const where = `norm ${number(largest.gradient)} at step ${number(largest.step)}`;
  if (largest.gradient > EXPLODING) return [{ level: clip ? "warning" : "problem", text: `Exploding gradients: ${where}${clip ? `, clipped to ${number(clip)}` : ", and clipping is off (training.clip = 0)"}.` }];
  if (recent.every((event) => event.gradient < VANISHING)) return [{ level: "warning", text: `The gradients have almost vanished: norm ${number(recent.at(-1).gradient)} at step ${number(recent.at(-1).step)}.` }];
  if (!clip) return [{ level: "good", text: `Gradients are calm: the largest had ${where}; clipping is off.` }];
  const cut = recent.filter((event) => event.gradient > clip).length / recent.length;
  if (cut > 0.5) return [{ level: "note", text: `${percent(cut)} of the last ${count(recent.length, "reading")} of the gradient were above ${number(clip)} and clipped; the largest had ${where}.` }];
  return [{ level: "good", text: `Gradients are calm: the largest had ${where}; ${cut ? `${percent(cut)} of the last readings were` : "none of the last readings was"} clipped to ${number(clip)}.` }];
}

function warnings(story) {
  return story.of("warn").slice(-3).map((event) => ({
    level: "warning",
    text: `${event.code ? `${event.code}: ` : ""}${event.problem ?? "training warned"}`,
  }));
}

function continued(story) {
  const last = story.of("resume").at(-1);
  return last ? [{ level: "note", text: `Continued at step ${number(last.step)}; what came after it before was undone.` }] : [];
}

function notes(story) {
  return (story.start?.notes ?? []).map((text) => ({ level: "note", text }));
}
