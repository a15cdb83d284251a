// How symbols are shown: blanks made visible; and how wide the column of each is, so that rails,
// canvases and bars line up.

const SIGNS = { "\n": "↵", "\t": "⇥", "\r": "␍", "\0": "␀" };
const ENDS = { "<s>": "⊢", "</s>": "⊣" }; // where a column has room for one sign only
const CHARACTER_WIDTH = 14,
  WIDEST = 120,
  MOST_PIXELS = 16_000;
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A symbol as it is shown: space as ·, newline as ↵, tab as ⇥, nothing as ∅. */
export function visible(symbol) {
  // Inside a name of several words a space is plain; at an edge it is part of the symbol.
  const shown = String(symbol ?? "")
    .replace(/^ +| +$/g, (blank) => "·".repeat(blank.length))
    .replace(/[^\p{L}\p{N} ]/gu, sign);
  if (!shown) return "∅";
  // A lone accent needs something to sit on, or it would land on its neighbour.
  return /^\p{M}/u.test(shown) ? `◌${shown}` : shown;
}

function sign(character) {
  return SIGNS[character] || (/\p{Zs}/u.test(character) ? "␣" : /[\p{Cc}\p{Cs}]/u.test(character) ? "�" : character);
}

/** In quotation marks, for sentences. */
export function quoted(symbol) {
  return `“${visible(symbol)}”`;
}

/** At most `length` signs of a text. */
export function cut(text, length) {
  const signs = Array.from(segmenter.segment(String(text)), ({ segment }) => segment);
  return signs.length > length ? `${signs.slice(0, length - 1).join("")}…` : String(text);
}

let pen;
/** How many pixels a text takes in the type of tokens. */
export function pixels(text, font = "13px ui-monospace, monospace") {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

/** The column of each symbol: 14 pixels for characters, as wide as the word for words. */
export function columnsOf(tokens) {
  const single = tokens.every(
    (text) => text.length <= 1 || ENDS[text] || Array.from(segmenter.segment(text)).length <= 1,
  );
  const shown = tokens.map((text) => (single && ENDS[text]) || visible(text));
  let widths = shown.map((text) =>
    single ? CHARACTER_WIDTH : Math.min(WIDEST, Math.max(20, Math.ceil(pixels(text)) + 10)),
  );
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total > MOST_PIXELS) widths = widths.map(() => Math.max(3, Math.floor(MOST_PIXELS / tokens.length)));
  const lefts = [];
  let left = 0;
  for (const width of widths) {
    lefts.push(left);
    left += width;
  }
  return { shown, widths, lefts, total: left, even: widths.every((width) => width === widths[0]) };
}

/** The column below a pixel. */
export function columnAt(columns, pixel) {
  let low = 0,
    high = columns.lefts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (columns.lefts[middle] <= pixel) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}
