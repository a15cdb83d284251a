// Training diagnostics from the events: validation, overfitting, gradient norms.

import { count, number, percent } from "../shell/format.js";

const EXPLODING = 100,
  CALM = 10,
  VANISHING = 1e-5,
  RECENT = 50;
const message = (level, text) => [{ level, text }];

/** Messages: [{level: "good" | "warning" | "problem" | "note", text}…]. */
export function diagnostics(history, training = {}, metric = {}) {
  const resumed = history.of("resume").at(-1);
  return [
    ...validation(history, training, metric),
    ...overfitting(history),
    ...gradients(history, training),
    ...history
      .of("warn")
      .slice(-3)
      .flatMap((event) =>
        message("warning", `${event.code ? `${event.code}: ` : ""}${event.problem ?? "training warned"}`),
      ),
    ...(resumed
      ? message("note", `Resumed at step ${number(resumed.step)}; later steps of the earlier training were discarded.`)
      : []),
    ...(history.start?.notes ?? []).flatMap((text) => message("note", text)),
  ];
}

function validation(history, training, metric) {
  const { best, evaluations, end } = history;
  if (!best) return end ? [] : message("note", evaluations.length ? "No evaluation is the best." : "No evaluation yet.");
  if (metric.name && !Number.isFinite(best[metric.name]))
    return message("note", `The ${metric.title ?? metric.name} of step ${number(best.step)} is not a number.`);
  if (!metric.name)
    return message("note", "There are no validation examples: nothing tells which weights are the best.");
  const since = evaluations.length - 1 - evaluations.indexOf(best);
  const value = ` (${metric.title ?? metric.name} ${number(best[metric.name])})`;
  if (!since)
    return message(hasDiverged(history) ? "note" : "good", `The last evaluation, at step ${number(best.step)}, is the best so far${value}.`);
  const ago = count(evaluations.at(-1).step - best.step, "step");
  return message(
    since > 2 ? "warning" : "note",
    `Validation stopped improving ${ago} ago: the best was at step ${number(best.step)}${value}.${patience(training.patience, since, end)}`,
  );
}

function patience(limit, since, end) {
  if (end) return end.reason === "no improvement" ? " Early stopping ended the training." : "";
  if (!limit) return " Early stopping is off (training.patience = 0).";
  if (limit < 0) return " If that goes on, early stopping will end it.";
  return ` Early stopping will end it after ${count(Math.max(0, limit - since), "more evaluation")} without improvement.`;
}

// Overfitting: the training loss falls while the validation loss has risen for at least three evaluations.
function overfitting(history) {
  const losses = (kind) => history.of(kind).filter((event) => Number.isFinite(event.loss));
  const [evaluations, train] = [losses("eval"), losses("train")];
  if (evaluations.length < 4) return [];
  const lowest = evaluations.reduce((a, b) => (b.loss < a.loss ? b : a));
  const last = evaluations.at(-1);
  const before = train.findLast((event) => event.step <= lowest.step);
  const isLasting = evaluations.length - evaluations.indexOf(lowest) > 3 && last.loss > 1.02 * lowest.loss;
  if (!isLasting || !(train.at(-1)?.loss < before?.loss)) return [];
  return message(
    "warning",
    `Since step ${number(lowest.step)} the validation loss has risen (${number(lowest.loss)} to ${number(last.loss)}) while the training loss has fallen (${number(before.loss)} to ${number(train.at(-1).loss)}): overfitting. More dropout or more data may help.`,
  );
}

const hasDiverged = ({ end }) => end?.reason === "diverged";

// Only finite norms can be spoken of; where training diverged, or a norm was not finite, none is called stable.
function gradients(history, { max_grad_norm: clip }) {
  const all = history.of("train").filter((event) => event.gradient !== undefined),
    train = all.filter((event) => Number.isFinite(event.gradient));
  if (!train.length) return [];
  const recent = train.slice(-RECENT);
  const largest = train.reduce((a, b) => (b.gradient > a.gradient ? b : a));
  const where = `norm ${number(largest.gradient)} at step ${number(largest.step)}`;
  if (largest.gradient > EXPLODING)
    return message(
      clip ? "warning" : "problem",
      `Exploding gradients: ${where}, ${clip ? `clipped to ${number(clip)}` : "and gradient clipping is off (training.max_grad_norm = 0)"}.`,
    );
  if (hasDiverged(history) || train.length < all.length)
    return message(
      "warning",
      `${hasDiverged(history) ? "Training diverged" : `${count(all.length - train.length, "gradient norm")} not finite`}; the largest finite gradient norm was ${number(largest.gradient)} at step ${number(largest.step)}.`,
    );
  if (recent.every((event) => event.gradient < VANISHING))
    return message(
      "warning",
      `Vanishing gradients: norm ${number(recent.at(-1).gradient)} at step ${number(recent.at(-1).step)}.`,
    );
  const cut = clip ? recent.filter((event) => event.gradient > clip).length / recent.length : 0;
  if (cut > 0.5)
    return message(
      "note",
      `${percent(cut)} of the last ${count(recent.length, "gradient norm")} were above ${number(clip)} and clipped; the largest: ${where}.`,
    );
  const clipping = clip
    ? `${cut ? `${percent(cut)} of the last gradients were` : "none of the last gradients was"} clipped to ${number(clip)}`
    : "gradient clipping is off";
  if (largest.gradient > CALM) return message("note", `The largest gradient: ${where}; ${clipping}.`);
  return message("good", `Gradient norms are stable: the largest is ${where}; ${clipping}.`);
}
