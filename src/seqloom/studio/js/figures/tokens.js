// Display of tokens: whitespace made visible, and column widths, so that token strips, heat maps and bars align.

const CONTROL_PICTURES = { "\n": "↵", "\t": "⇥", "\r": "␍", "\0": "␀" };
const BOUNDARIES = { "<s>": "⊢", "</s>": "⊣" }; // in columns of one character
const CHARACTER_WIDTH = 14,
  MAX_WIDTH = 120,
  MAX_TOTAL = 16_000; // browsers limit the width of a canvas
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A token as it is displayed: space as ·, newline as ↵, tab as ⇥, the empty token as ∅. */
export function visible(token) {
  // Spaces within a name of several words are plain; at the edges they are part of the token.
  const shown = String(token ?? "")
    .replace(/^ +| +$/g, (blank) => "·".repeat(blank.length))
    .replace(/[^\p{L}\p{N} ]/gu, visibleCharacter);
  if (!shown) return "∅";
  // A combining mark needs a base character, or it would combine with the neighbouring token.
  return /^\p{M}/u.test(shown) ? `◌${shown}` : shown;
}

function visibleCharacter(character) {
  const isControl = /[\p{Cc}\p{Cs}]/u.test(character);
  return CONTROL_PICTURES[character] || (/\p{Zs}/u.test(character) ? "␣" : isControl ? "�" : character);
}

/** A token in quotation marks, for sentences. */
export function quoted(token) {
  return `“${visible(token)}”`;
}

/** At most `length` characters (grapheme clusters) of a text. */
export function truncate(text, length) {
  const characters = Array.from(segmenter.segment(String(text)), ({ segment }) => segment);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : String(text);
}

let pen;
/** The width of a text in pixels, in the font of tokens. */
export function textWidth(text, font = "13px ui-monospace, monospace") {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

/** The column of each token: 14 pixels for characters, as wide as the text for words. */
export function columnsOf(tokens) {
  const single = tokens.every(
    (text) => text.length <= 1 || BOUNDARIES[text] || Array.from(segmenter.segment(text)).length <= 1,
  );
  const shown = tokens.map((text) => (single && BOUNDARIES[text]) || visible(text));
  let widths = shown.map((text) =>
    single ? CHARACTER_WIDTH : Math.min(MAX_WIDTH, Math.max(20, Math.ceil(textWidth(text)) + 10)),
  );
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total > MAX_TOTAL) widths = widths.map(() => Math.max(3, Math.floor(MAX_TOTAL / tokens.length)));
  const lefts = [];
  let left = 0;
  for (const width of widths) {
    lefts.push(left);
    left += width;
  }
  return { shown, widths, lefts, total: left, even: widths.every((width) => width === widths[0]) };
}

/** The column at a pixel, by bisection. */
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
