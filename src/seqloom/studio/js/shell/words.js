// Numbers in words: as few digits as tell it, the same everywhere.

const COUNT = new Intl.NumberFormat("en-US");

/** 1240 → "1,240"; 0.03127 → "0.0313"; null → "–". */
export function number(value, digits = 3) {
  if (value == null || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value)) return COUNT.format(value);
  const size = Math.abs(value);
  if (size >= 1000) return COUNT.format(Math.round(value));
  if (size < 1e-4) return value.toExponential(1);
  return String(Number(value.toPrecision(digits)));
}

/** 18400 → "18.4k", for speeds. */
export function short(value) {
  if (value == null) return "–";
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return number(Math.round(value));
}

/** A count with its noun: count(1, "line") → "1 line". */
export function count(value, noun, many = `${noun}s`) {
  return `${number(value)} ${value === 1 ? noun : many}`;
}

/** 130 → "2 min 10 s". */
export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes} min ${Math.round(seconds % 60)} s`;
  if (minutes < 60) return `${Math.round(seconds / 60)} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

/** How long ago: "just now", "5 min ago", "3 days ago". */
export function ago(seconds) {
  if (seconds == null) return "";
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** 812000000 → "812 MB". */
export function bytes(value) {
  if (value == null) return "–";
  if (value < 1000) return `${value} bytes`;
  if (value < 1e6) return `${number(value / 1e3)} KB`;
  return value < 1e9 ? `${number(value / 1e6)} MB` : `${number(value / 1e9)} GB`;
}

/** 0.431 → "43 %". */
export function percent(share) {
  return share == null ? "–" : `${Math.round(100 * share)} %`;
}
