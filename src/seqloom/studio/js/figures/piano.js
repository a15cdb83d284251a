// A piano roll: steps from left to right, pitches from low to high; what was given is paler.
import { h, s } from "../dom.js";

const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"];

export function pitchName(pitch) {
  return `${NAMES[((pitch % 12) + 12) % 12]}${Math.floor(pitch / 12) - 1}`;
}

/** pianoRoll({frames: [[pitch…]…], given}) → element. */
export function pianoRoll({ frames, given = 0 }) {
  const all = frames.flat(), low = Math.min(...all, 60) - 1, high = Math.max(...all, 60) + 1;
  const wide = frames.length > 200 ? 4 : 8, tall = 7, left = 34, width = left + frames.length * wide + 8, height = (high - low + 1) * tall + 8;
  const y = (pitch) => 4 + (high - pitch) * tall;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "piano-svg" });
  for (let pitch = low; pitch <= high; pitch++) {
    if (NAMES[((pitch % 12) + 12) % 12].includes("♯")) svg.append(s("rect", { class: "piano-black", x: left, y: y(pitch), width: width - left - 8, height: tall }));
    if (pitch % 12 === 0) svg.append(s("text", { class: "tick", x: left - 4, y: y(pitch) + tall, "text-anchor": "end" }, pitchName(pitch)), s("line", { class: "gridline", x1: left, x2: width - 8, y1: y(pitch) + tall, y2: y(pitch) + tall }));
  }
  const held = new Map();
  const close = (pitch, end) => {
    const start = held.get(pitch);
    held.delete(pitch);
    svg.append(s("rect", { class: start < given ? "piano-note given" : "piano-note", x: left + start * wide, y: y(pitch) + 1, width: (end - start) * wide - 1, height: tall - 2, rx: 2 }, s("title", {}, `${pitchName(pitch)}, steps ${start + 1} to ${end}`)));
  };
  frames.forEach((frame, step) => {
    for (const pitch of [...held.keys()]) if (!frame.includes(pitch) || step === given) close(pitch, step);
    for (const pitch of frame) if (!held.has(pitch)) held.set(pitch, step);
  });
  for (const pitch of [...held.keys()]) close(pitch, frames.length);
  if (given) svg.append(s("line", { class: "now", x1: left + given * wide, x2: left + given * wide, y1: 2, y2: height - 2 }));
  return h("div", { class: "scroller piano" }, svg);
}
