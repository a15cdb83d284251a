// Colour maps, the same as in the pictures of the Python package. The range from 0 to 1 is never rescaled:
// the same value has the same colour in every figure.
import { isDark } from "./theme.js";

const VIRIDIS = (
  "440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e " + "1f988b 22a884 35b779 54c568 7ad151 a5db36 d2e21b fde725"
)
  .split(" ")
  .map(channels);
const BLUE = channels("0072b2"),
  ORANGE = channels("d55e00");
// Okabe and Ito (2008), without yellow on white and without deep blue on black: too little contrast.
const LIGHT_ORDER = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];
const DARK_ORDER = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00"];

/** Viridis: a value from 0 (dark violet) to 1 (yellow) as [red, green, blue]. */
export function viridisPixel(value) {
  const position = clamp(value) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(position), VIRIDIS.length - 2);
  return blend(VIRIDIS[below], VIRIDIS[below + 1], position - below);
}

/** Diverging colour map: from -1 (orange) through 0 (background of a card) to 1 (blue) as [red, green, blue]. */
export function signedPixel(value, dark = isDark()) {
  const neutral = dark ? [26, 31, 38] : [246, 248, 250];
  return blend(neutral, value < 0 ? ORANGE : BLUE, clamp(Math.abs(value)));
}

export function viridis(value) {
  return css(viridisPixel(value));
}

/** Sequential colour map: from 0 (background) to 1 (blue), pale enough for text over every shade. */
export function shade(value) {
  return isDark()
    ? css(blend([17, 20, 24], BLUE, clamp(value)))
    : css(blend([255, 255, 255], BLUE, 0.8 * clamp(value)));
}

/** The diverging colour map as CSS; behind text it is capped, so that one text colour is readable on all. */
export function signed(value, { behindText = false } = {}) {
  const dark = isDark(),
    negative = value < 0;
  if (!behindText) return css(signedPixel(value, dark));
  const cap = dark ? (negative ? 0.9 : 1) : negative ? 0.96 : 0.79;
  const neutral = dark ? [17, 20, 24] : [246, 248, 250];
  return css(blend(neutral, negative ? ORANGE : BLUE, cap * clamp(Math.abs(value))));
}

/** The i-th categorical colour. */
export function category(index) {
  const order = isDark() ? DARK_ORDER : LIGHT_ORDER;
  return order[index % order.length];
}

/** The i-th categorical colour as a CSS variable, which follows the theme. */
export function categoryVariable(index) {
  return `var(--category-${index % LIGHT_ORDER.length})`;
}

/** A colour map as a lookup table of 256 little-endian RGBA words: one 32-bit store per pixel of a canvas. */
export function ramp(pixel, low = 0, high = 1) {
  const table = new Uint32Array(256);
  for (let level = 0; level < 256; level++) {
    const [red, green, blue] = pixel(low + ((high - low) * level) / 255);
    table[level] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return table;
}

function blend(first, second, amount) {
  return first.map((channel, i) => Math.round(channel + (second[i] - channel) * amount));
}

function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

function channels(hex) {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function clamp(value) {
  return Math.min(1, Math.max(0, Number(value) || 0));
}
