// The history of a training, from its events. As on disk, a resume discards the events after its step, and evaluations
// that its checkpoint does not have. Each event gets the training time in seconds and the number of tokens up to it.

const isUndone = (old, { step, evaluated_step: evaluated = step }) =>
  old.kind === "end" || old.step > (["eval", "sample"].includes(old.kind) ? Math.min(step, evaluated) : step);

/** The events of one run. */
export class TrainingHistory {
  events = [];
  resumes = 0;

  /** Add one event. */
  add(event) {
    const isResume = event.kind === "resume";
    if (isResume) {
      this.events = this.events.filter((old) => !isUndone(old, event));
      this.resumes += 1;
    }
    const last = this.events.at(-1);
    const passed = isResume || !last ? 0 : Math.max(0, event.t - last.t);
    const since = isResume ? 0 : Math.max(0, event.t - (this.lastTime ?? event.t - passed));
    // Event logs of earlier versions have the speed alone.
    const symbols = event.kind === "train" ? (event.symbols ?? since * (event.symbols_per_second ?? 0)) : 0;
    this.events.push({ ...event, seconds: (last?.seconds ?? 0) + passed, symbols: (last?.symbols ?? 0) + symbols });
    if (isResume || event.kind === "train") this.lastTime = event.t;
  }

  of(kind) {
    return this.events.filter((event) => event.kind === kind);
  }

  get start() {
    return this.of("start")[0];
  }

  get end() {
    const last = this.events.at(-1);
    return last?.kind === "end" ? last : null;
  }

  get step() {
    return this.events.at(-1)?.step ?? 0;
  }

  get checkpoint() {
    return this.of("checkpoint").at(-1)?.step;
  }

  get evaluations() {
    return this.of("eval");
  }

  get best() {
    return this.evaluations.findLast((event) => event.best);
  }

  /** Progress, speed in tokens per second, and remaining seconds, from the last training events. */
  get pace() {
    const recent = this.of("train").slice(-12);
    if (!recent.length) return { progress: null };
    const [first, last] = [recent[0], recent.at(-1)];
    const gained = last.progress - first.progress;
    const passed = last.seconds - first.seconds;
    return {
      progress: last.progress,
      epoch: last.epoch,
      speed: speedOf(recent),
      left: gained > 0 && passed > 0 ? ((1 - last.progress) * passed) / gained : null,
    };
  }
}

/** Tokens per second of training, without evaluations: the mean over the time that the tokens took. */
function speedOf(events) {
  const sizes = events.map((event, i) => event.symbols - (events[i - 1]?.symbols ?? event.symbols));
  const seconds = events.map((event, i) => (event.symbols_per_second > 0 ? sizes[i] / event.symbols_per_second : 0));
  const sum = (all) => all.reduce((total, one) => total + one, 0);
  return sum(seconds) > 0 ? sum(sizes) / sum(seconds) : events.at(-1).symbols_per_second;
}

/** The title of an x axis: its name in URLs and in the events is "symbols". */
export const axisTitle = (axis) => (axis === "symbols" ? "tokens" : axis);

/** Points [[x, y]…] of a value over step, symbols (tokens) or seconds: at most 2,000, without missing values. */
export function points(events, axis, name) {
  const all = events.filter((event) => Number.isFinite(event[name])).map((event) => [event[axis], event[name]]);
  const most = Math.min(all.length, 2000);
  return most < all.length
    ? Array.from({ length: most }, (_, i) => all[Math.round((i * (all.length - 1)) / (most - 1))])
    : all;
}

/** Exponential moving average with bias correction: 0 changes nothing, 0.95 smooths strongly. */
export function smoothed(pairs, amount) {
  let mean = 0,
    weight = 0;
  return pairs.map(([x, y]) => {
    mean = amount * mean + (1 - amount) * y;
    weight = amount * weight + (1 - amount);
    return [x, mean / weight];
  });
}
