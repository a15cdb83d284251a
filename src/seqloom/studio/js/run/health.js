// The health of a training, in words that are computed from its events.

import { count, number, percent } from "../shell/words.js";

const EXPLODING = 100,
  VANISHING = 1e-5,
  RECENT = 50;
const say = (level, text) => [{ level, text }];

/** Sentences: [{level: "good" | "warning" | "problem" | "note", text}…]. */
export function health(story, training = {}, metric = {}) {
  const resumed = story.of("resume").at(-1);
  return [
    ...validation(story, training, metric),
    ...learningByHeart(story),
    ...gradients(story, training),
    ...story
      .of("warn")
      .slice(-3)
      .flatMap((event) =>
        say("warning", `${event.code ? `${event.code}: ` : ""}${event.problem ?? "training warned"}`),
      ),
    ...(resumed ? say("note", `Continued at step ${number(resumed.step)}; what came after it before was undone.`) : []),
    ...(story.start?.notes ?? []).flatMap((text) => say("note", text)),
  ];
}

function validation(story, training, metric) {
  const { best, evaluations, end } = story;
  if (!best) return end ? [] : say("note", "No evaluation yet.");
  const since = evaluations.length - 1 - evaluations.indexOf(best);
  const value = Number.isFinite(best[metric.name])
    ? ` (${metric.title ?? metric.name} ${number(best[metric.name])})`
    : "";
  if (!since) return say("good", `The last evaluation, at step ${number(best.step)}, is the best so far${value}.`);
  const ago = count(evaluations.at(-1).step - best.step, "step");
  return say(
    since > 2 ? "warning" : "note",
    `Validation stopped improving ${ago} ago: the best was at step ${number(best.step)}${value}.${patience(training.patience, since, end)}`,
  );
}

function patience(limit, since, end) {
  if (end) return end.reason === "no improvement" ? " Early stopping has ended the training." : "";
  if (!limit) return " Early stopping is off (training.patience = 0).";
  return ` Early stopping will end it after ${count(Math.max(0, limit - since), "more evaluation")} without improvement.`;
}

// Training goes on falling while validation rises: said once it has lasted three evaluations.
function learningByHeart(story) {
  const losses = (kind) => story.of(kind).filter((event) => Number.isFinite(event.loss));
  const [evaluations, train] = [losses("eval"), losses("train")];
  if (evaluations.length < 4) return [];
  const lowest = evaluations.reduce((a, b) => (b.loss < a.loss ? b : a));
  const last = evaluations.at(-1);
  const before = train.findLast((event) => event.step <= lowest.step);
  const isLasting = evaluations.length - evaluations.indexOf(lowest) > 3 && last.loss > 1.02 * lowest.loss;
  if (!isLasting || !(train.at(-1)?.loss < before?.loss)) return [];
  return say(
    "warning",
    `Since step ${number(lowest.step)} the validation loss rises (${number(lowest.loss)} to ${number(last.loss)}) while the training loss falls: it begins to learn by heart. More dropout or more data help.`,
  );
}

function gradients(story, { clip }) {
  const train = story.of("train").filter((event) => Number.isFinite(event.gradient));
  if (!train.length) return [];
  const recent = train.slice(-RECENT);
  const largest = train.reduce((a, b) => (b.gradient > a.gradient ? b : a));
  const where = `norm ${number(largest.gradient)} at step ${number(largest.step)}`;
  if (largest.gradient > EXPLODING)
    return say(
      clip ? "warning" : "problem",
      `Exploding gradients: ${where}, ${clip ? `clipped to ${number(clip)}` : "and clipping is off (training.clip = 0)"}.`,
    );
  if (recent.every((event) => event.gradient < VANISHING))
    return say(
      "warning",
      `The gradients have almost vanished: norm ${number(recent.at(-1).gradient)} at step ${number(recent.at(-1).step)}.`,
    );
  const cut = clip ? recent.filter((event) => event.gradient > clip).length / recent.length : 0;
  if (cut > 0.5)
    return say(
      "note",
      `${percent(cut)} of the last ${count(recent.length, "reading")} of the gradient were above ${number(clip)} and clipped; the largest had ${where}.`,
    );
  const words = clip
    ? `${cut ? `${percent(cut)} of the last readings were` : "none of the last readings was"} clipped to ${number(clip)}`
    : "clipping is off";
  return say("good", `Gradients are calm: the largest had ${where}; ${words}.`);
}
