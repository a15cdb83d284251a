// The story of a training, from its events: the same rule as on disk, a resume undoes what came
// after its step. Keeps for each event the seconds and symbols that training had behind it.

const RECENT = 12;

/** What has happened so far in one run. */
export class Story {
  constructor() {
    this.events = [];
    this.resumes = 0;
    this.version = 0;
  }

  /** Take in one event; whether it belongs to the story. */
  add(event) {
    if (event.kind === "resume") this.undo(event);
    const last = this.events.at(-1);
    const pause = event.kind === "resume" || !last;
    const passed = pause ? 0 : Math.max(0, event.t - last.t);
    const since = this.lastTrain ? event.t - this.lastTrain.t : passed;
    const symbols = event.kind === "train" ? (event.symbols_per_second ?? 0) * Math.max(0, pause ? 0 : since) : 0;
    this.events.push({ ...event, seconds: (last?.seconds ?? 0) + passed, symbols: (last?.symbols ?? 0) + symbols });
    if (event.kind === "train" || event.kind === "resume") this.lastTrain = event;
    this.version += 1;
  }

  undo(resume) {
    this.events = this.events.filter((old) => old.step <= resume.step && old.kind !== "end");
    this.resumes += 1;
  }

  of(kind) {
    return this.events.filter((event) => event.kind === kind);
  }

  get start() {
    return this.events.find((event) => event.kind === "start") ?? null;
  }

  get end() {
    const last = this.events.at(-1);
    return last?.kind === "end" ? last : null;
  }

  get step() {
    return this.events.at(-1)?.step ?? 0;
  }

  get checkpoint() {
    return this.of("checkpoint").at(-1)?.step ?? null;
  }

  get best() {
    return this.of("eval").findLast((event) => event.best) ?? null;
  }

  get evaluations() {
    return this.of("eval");
  }

  /** The share that is done, the speed, and the seconds that are left, as the last news tell. */
  get pace() {
    const train = this.of("train");
    const last = train.at(-1);
    if (!last) return { progress: this.end ? 1 : null, speed: null, left: null, epoch: null };
    const recent = train.slice(-RECENT);
    const first = recent[0];
    const gained = last.progress - first.progress;
    const passed = last.seconds - first.seconds;
    const left = gained > 0 && passed > 0 ? ((1 - last.progress) * passed) / gained : null;
    const seconds = recent.length > 1 ? passed : 0;
    const speed = seconds > 0 ? (last.symbols - first.symbols) / seconds : last.symbols_per_second;
    return { progress: last.progress, speed, left, epoch: last.epoch };
  }
}

/** Points [[x, y]…] of a value over step, symbols or seconds; missing values left out. */
export function points(events, axis, name) {
  return events.filter((event) => Number.isFinite(event[name])).map((event) => [event[axis], event[name]]);
}

/** A running mean of points: 0 changes nothing, 0.95 smooths much. */
export function smoothed(pairs, amount) {
  let mean = 0;
  let weight = 0;
  return pairs.map(([x, y]) => {
    mean = amount * mean + (1 - amount) * y;
    weight = amount * weight + (1 - amount);
    return [x, mean / weight];
  });
}

/** At most so many of the points, evenly, the first and the last among them. */
export function thinned(pairs, most = 2000) {
  if (pairs.length <= most) return pairs;
  return Array.from({ length: most }, (_, i) => pairs[Math.round((i * (pairs.length - 1)) / (most - 1))]);
}
