// The rails of the page and their cursors: what was read ("src") and what was written ("tgt"). A
// place chosen on a rail or in a card is chosen in all of them, and stands in the address.
import { clear, h } from "../dom.js";
import { place, set } from "../address.js";
import { rail, reveal, scroller } from "../figures/rail.js";
import { columnsOf } from "../figures/symbols.js";

const NAMES = { src: "at", tgt: "to" };

export function cursorsOf({ line, moved }) {
  const sides = { src: null, tgt: null };
  const at = (side) => {
    const found = place().query.get(NAMES[side]);
    return found === null || !sides[side]
      ? null
      : Math.max(0, Math.min(sides[side].tokens.length - 1, Number(found) || 0));
  };
  function move(side, to) {
    if (!sides[side]) return;
    const wanted = Math.max(0, Math.min(sides[side].tokens.length - 1, to));
    set({ [NAMES[side]]: wanted }, { replace: true });
    sides[side].rail.setCursor(wanted);
    const { lefts, widths } = sides[side].columns;
    reveal("rail", lefts[wanted], widths[wanted]);
    moved();
  }
  /** How far the places of a list of symbols lie from those of the rail; null where they are others. */
  function shift(side, tokens) {
    const own = sides[side]?.tokens;
    if (!own || !tokens) return null;
    // Of a series one view may look further back than another: all of them end with its end.
    for (const by of [0, 1, -1, 2, -2, tokens.length - own.length]) if (fits(own, tokens, by)) return by;
    return null;
  }
  function learn(json) {
    for (const side of ["src", "tgt"]) {
      const all = json.tokens?.[side],
        tokens = side === "tgt" && all?.[0] === "<s>" ? all.slice(1) : all;
      const wanted = side === "src" || (json.rail === "tgt" && !same(tokens, json.tokens.src));
      if (!tokens?.length || !wanted || typeof tokens[0] !== "string") continue;
      // What names both sides knows best which is which; what a decoder reads is what is written.
      const worth = json.tokens.tgt ? 2 : 1;
      if (sides[side]?.fresh && (sides[side].worth >= worth || shift(side, tokens) !== null)) continue;
      if (!sides[side]?.fresh && side === "src" && worth === 1 && shift("tgt", tokens) !== null) continue;
      add(side, tokens, worth, side === "src" ? json.tokens.numbers : undefined);
    }
  }
  function add(side, tokens, worth, numbers) {
    const element = rail({
      tokens,
      numbers,
      label: side === "src" ? "what was read" : "what was written",
      onMove: (i) => move(side, i),
    });
    sides[side] = {
      tokens,
      rail: element,
      shown: numbers || tokens,
      columns: columnsOf(numbers || tokens),
      fresh: true,
      worth,
    };
    element.setCursor(at(side));
    const rows = ["src", "tgt"].filter((name) => sides[name]);
    clear(line).append(
      ...rows.map((name) =>
        h(
          ".rail-row",
          rows.length > 1 && h("span.rail-name.muted.small", name === "src" ? "reads" : "writes"),
          scroller(sides[name].rail, name === "src" ? "rail" : "rail-written"),
        ),
      ),
    );
    line.hidden = false;
  }
  function forget() {
    for (const side of ["src", "tgt"]) if (sides[side]) sides[side].fresh = false;
  }
  /** The rail that a list of symbols of a view lies on: its own, or that of what is written. */
  const sideOf = (side, tokens) => (shift(side, tokens) === null && shift("tgt", tokens) !== null ? "tgt" : side);
  /** The symbol under the cursor, as the rail shows it. */
  const symbol = (side) => sides[side]?.shown[at(side)];
  return { at, move, symbol, shift, sideOf, learn, forget };
}

function fits(own, tokens, by) {
  let met = 0;
  for (let i = 0; i < own.length; i++) {
    const other = tokens[i + by];
    if (other === undefined) continue;
    if (other !== own[i]) return false;
    met++;
  }
  return met > 0 && met >= Math.min(own.length, tokens.length) - Math.abs(by);
}

function same(first, second) {
  return first?.length === second?.length && first.every((symbol, i) => symbol === second[i]);
}
