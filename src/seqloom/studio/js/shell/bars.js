// Two small pictures of counts: bars by name, and a histogram of lengths, both with words.

import { h, s } from "../dom.js";
import { number } from "./words.js";

const MOST = 12;

/** Bars for [[name, count]…], the largest first. */
export function labelBars(pairs) {
  const sorted = [...pairs].sort((a, b) => b[1] - a[1]);
  const most = sorted[0]?.[1] || 1;
  const shown = sorted.slice(0, MOST);
  return h("div",
    h(".bars", shown.map(([name, n]) => [h("b", { dir: "auto" }, name), h("i", { style: { width: `${(100 * n) / most}%` } }), h("span", number(n))])),
    sorted.length > MOST && h("p.small.muted", `and ${number(sorted.length - MOST)} more`));
}

/** A histogram of [{from, to, count}…]. */
export function histogram(role, bins) {
  const most = Math.max(...bins.map((bin) => bin.count)) || 1;
  const width = 320;
  const step = width / bins.length;
  const bars = bins.map((bin, i) => {
    const height = bin.count ? Math.max(1, (84 * bin.count) / most) : 0;
    return s("rect", { x: i * step + 0.5, y: 90 - height, width: Math.max(1, step - 1), height }, s("title", `${range(bin)}: ${number(bin.count)}`));
  });
  const peak = bins.reduce((a, b) => (b.count > a.count ? b : a));
  const sentence = `${role}: most are ${range(peak)} long; up to ${number(bins.at(-1).to)}.`;
  return h("div", h("p.small", { style: { margin: "0 0 4px" } }, sentence),
    s("svg.histogram", { viewBox: `0 0 ${width} 108`, preserveAspectRatio: "none", role: "img", "aria-label": sentence }, bars),
    h(".row.apart.small.muted", { "aria-hidden": "true" }, h("span", number(bins[0].from)), h("span", number(bins.at(-1).to))));
}

function range(bin) {
  return bin.from === bin.to || bin.to == null ? number(bin.from) : `${number(bin.from)} to ${number(bin.to)}`;
}
