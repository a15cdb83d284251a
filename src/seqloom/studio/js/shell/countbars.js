// Bar charts of counts.

import { h } from "../dom.js";
import { number } from "./format.js";

/** Horizontal bars for [[name, count]…], at most twelve. */
export function countBars(pairs, most = 12) {
  const largest = Math.max(...pairs.map(([, n]) => n));
  return [
    h(
      ".bars",
      pairs
        .slice(0, most)
        .map(([name, n]) => [
          h("b", { dir: "auto" }, name),
          h("i", { style: `width:${(100 * n) / largest}%` }),
          h("span", number(n)),
        ]),
    ),
    pairs.length > most && h("p.small.muted", `and ${number(pairs.length - most)} more`),
  ];
}
