// Axis scales and ticks.

/** A scale from [low, high] to [from, to], linear or logarithmic (kind "log"). */
export function scale(low, high, from, to, kind = "linear") {
  const transform = kind === "log" ? Math.log10 : (value) => value;
  const [first, last] =
    low === high
      ? [transform(low) - (kind === "log" ? 0.5 : 1), transform(high) + (kind === "log" ? 0.5 : 1)]
      : [transform(low), transform(high)];
  const map = (value) => from + ((transform(value) - first) / (last - first)) * (to - from);
  map.back = (pixel) => {
    const value = first + ((pixel - from) / (to - from)) * (last - first);
    return kind === "log" ? 10 ** value : value;
  };
  return map;
}

/** Round tick values between low and high, about `wanted` of them. */
export function ticks(low, high, wanted = 5, kind = "linear") {
  if (kind === "log") return logTicks(low, high, wanted);
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    marks.push(Number((i * step).toPrecision(12)));
  return marks;
}

function logTicks(low, high, wanted) {
  const decades = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++)
    decades.push(10 ** power);
  if (decades.length < 2) return ticks(low, high, wanted).filter((value) => value > 0);
  const every = Math.ceil(decades.length / wanted);
  return decades.filter((_, i) => i % every === 0);
}

/** A number as text: 12,400 · 3.27 · 0.0041 · 2.1e-7. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10_000) return size >= 1e9 ? value.toExponential(1) : Math.round(value).toLocaleString("en");
  if (size < 0.0001) return value.toExponential(1).replace("-", "−").replace("e−", "e-");
  if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
  return String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1)))))).replace("-", "−");
}

/** Times without seconds, or without hours, where these are 0 in all of them. */
export function shortTimes(times) {
  for (const end of [/[T ]00:00(:00(\.0+)?)?$/, /(?<=\d\d:\d\d):00(\.0+)?$/])
    if (times.every((time) => end.test(time))) return times.map((time) => time.replace(end, ""));
  return times;
}

/** A fraction as a percentage: "<0.01 %" instead of a false 0 %. */
export function percent(fraction) {
  if (fraction > 0 && fraction < 0.0001) return "<0.01 %";
  const value = 100 * fraction;
  return `${value >= 99.95 || value === 0 ? Math.round(value) : value.toFixed(value < 1 ? 2 : 1)} %`;
}
