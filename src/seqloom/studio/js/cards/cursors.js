// The token strips of the page, input ("src") and output ("tgt"), and their cursors. A position selected on a strip
// or in a card is selected in all of them, and is part of the URL.
import { clear, h } from "../dom.js";
import { currentRoute, setQuery } from "../route.js";
import { tokenStrip, reveal, scroller } from "../figures/strip.js";
import { columnsOf } from "../figures/tokens.js";

const NAMES = { src: "at", tgt: "to" };

export function createCursors({ line, moved }) {
  const sides = { src: null, tgt: null };
  const at = (side) => {
    const value = currentRoute().query.get(NAMES[side]);
    return value === null || !sides[side]
      ? null
      : Math.max(0, Math.min(sides[side].tokens.length - 1, Number(value) || 0));
  };
  function move(side, to) {
    if (!sides[side]) return;
    const position = Math.max(0, Math.min(sides[side].tokens.length - 1, to));
    setQuery({ [NAMES[side]]: position }, { replace: true });
    sides[side].strip.setCursor(position);
    const { lefts, widths } = sides[side].columns;
    reveal("strip", lefts[position], widths[position]);
    moved();
  }
  /** The offset of a list of tokens from the tokens of a strip; null if they do not match. */
  function shift(side, tokens) {
    const own = sides[side]?.tokens;
    if (!own || !tokens) return null;
    // Views of a time series may have contexts of different lengths: all end with the last observation.
    for (const by of [0, 1, -1, 2, -2, tokens.length - own.length]) if (fits(own, tokens, by)) return by;
    return null;
  }
  function setTokens(json) {
    for (const side of ["src", "tgt"]) {
      const all = json.tokens?.[side],
        tokens = side === "tgt" && all?.[0] === "<s>" ? all.slice(1) : all;
      const isShown = side === "src" || (json.rail === "tgt" && !same(tokens, json.tokens.src));
      if (!tokens?.length || !isShown || typeof tokens[0] !== "string") continue;
      // A view with both sides takes precedence: a view of a decoder alone has the output tokens as its `src`.
      const priority = json.tokens.tgt ? 2 : 1;
      if (sides[side]?.fresh && (sides[side].priority >= priority || shift(side, tokens) !== null)) continue;
      if (!sides[side]?.fresh && side === "src" && priority === 1 && shift("tgt", tokens) !== null) continue;
      add(side, tokens, priority, side === "src" ? json.tokens.numbers : undefined);
    }
  }
  function add(side, tokens, priority, numbers) {
    const element = tokenStrip({
      tokens,
      numbers,
      label: side === "src" ? "input tokens" : "output tokens",
      onMove: (i) => move(side, i),
    });
    sides[side] = {
      tokens,
      strip: element,
      shown: numbers || tokens,
      columns: columnsOf(numbers || tokens),
      fresh: true,
      priority,
    };
    element.setCursor(at(side));
    const rows = ["src", "tgt"].filter((name) => sides[name]);
    clear(line).append(
      ...rows.map((name) =>
        h(
          ".strip-row",
          rows.length > 1 && h("span.strip-name.muted.small", name === "src" ? "input" : "output"),
          scroller(sides[name].strip, name === "src" ? "strip" : "strip-output"),
        ),
      ),
    );
    line.hidden = false;
  }
  function reset() {
    for (const side of ["src", "tgt"]) if (sides[side]) sides[side].fresh = false;
  }
  /** The strip that the tokens of a view are on: that of their own side, or the output. */
  const sideOf = (side, tokens) => (shift(side, tokens) === null && shift("tgt", tokens) !== null ? "tgt" : side);
  /** The token at the cursor, as the strip shows it. */
  const token = (side) => sides[side]?.shown[at(side)];
  return { at, move, token, shift, sideOf, setTokens, reset };
}

function fits(own, tokens, by) {
  let matches = 0;
  for (let i = 0; i < own.length; i++) {
    const other = tokens[i + by];
    if (other === undefined) continue;
    if (other !== own[i]) return false;
    matches++;
  }
  return matches > 0 && matches >= Math.min(own.length, tokens.length) - Math.abs(by);
}

function same(first, second) {
  return first?.length === second?.length && first.every((token, i) => token === second[i]);
}
