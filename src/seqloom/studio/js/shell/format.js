// Formatting of numbers, times and sizes.

/** 1240 → "1,240"; 0.03127 → "0.0313"; null → "–". */
export function number(value, digits = 3) {
  if (value == null || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 1000) return Math.round(value).toLocaleString("en-US");
  return size < 1e-4 ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
}

/** 18400 → "18.4k". */
export function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)}k` : number(value && Math.round(value));
}

/** A count with its noun: count(1, "line") → "1 line". */
export const count = (value, noun, many = `${noun}s`) => `${number(value)} ${value === 1 ? noun : many}`;

/** 130 → "2 min 10 s". */
export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return "under 1 s";
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 1) return `${whole} s`;
  if (minutes < 60) return minutes < 10 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.round(minutes / 1440)} days`;
}

/** How long ago: "just now", "5 min ago", "3 days ago". */
export function ago(seconds) {
  if (seconds == null) return "";
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}

/** 812000000 → "812 MB". */
export function bytes(value) {
  if (value == null) return "–";
  const power = Math.min(3, Math.floor(Math.log10(Math.max(1, value)) / 3));
  return `${number(value / 1000 ** power)} ${["bytes", "KB", "MB", "GB"][power]}`;
}

/** 0.431 → "43 %". */
export const percent = (fraction) => (fraction == null ? "–" : `${Math.round(100 * fraction)} %`);

/** An output as one line of text; of a sequence of [token, label] the labels, or both. */
export function outputText(output, withTokens = false) {
  const value = output?.output ?? output?.text ?? output?.caption ?? output?.view?.caption ?? "";
  const part = (one) => (Array.isArray(one) ? (withTokens ? one.join("/") : one[1]) : one);
  return Array.isArray(value) ? value.map(part).join(" ") : String(value);
}

/** "loss" → "Loss". */
export const capital = (text = "") => text.charAt(0).toUpperCase() + text.slice(1);
