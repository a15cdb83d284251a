// A piano roll: steps from left to right, pitches from low to high; the prompt is paler.
import { h, s } from "../dom.js";
import { svgCanvas } from "./common.js";

const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"];
const TALL = 7,
  LEFT = 34;

const pitchName = (pitch) => `${NAMES[pitch % 12]}${Math.floor(pitch / 12) - 1}`;

/** pianoRoll({frames: [[pitch…]…], given}) → element. */
export function pianoRoll({ frames, given: promptSteps = 0 }) {
  const all = frames.flat(),
    low = Math.min(...all, 60) - 1,
    high = Math.max(...all, 60) + 1,
    wide = frames.length > 200 ? 4 : 8,
    end = LEFT + frames.length * wide,
    held = new Map();
  const svg = svgCanvas("piano-svg", end + 8, (high - low + 1) * TALL + 8),
    y = (pitch) => 4 + (high - pitch) * TALL;
  for (let pitch = low; pitch <= high; pitch++) {
    if (NAMES[pitch % 12].includes("♯"))
      svg.append(s("rect.piano-black", { x: LEFT, y: y(pitch), width: end - LEFT, height: TALL }));
    if (pitch % 12 === 0)
      svg.append(
        s("text.tick", { x: LEFT - 4, y: y(pitch) + TALL, "text-anchor": "end" }, pitchName(pitch)),
        s("line.gridline", { x1: LEFT, x2: end, y1: y(pitch) + TALL, y2: y(pitch) + TALL }),
      );
  }
  // A pitch that is held over several steps is one note; notes of the prompt end where generation starts.
  [...frames, []].forEach((frame, step) => {
    for (const [pitch, start] of held) {
      if (frame.includes(pitch) && step !== promptSteps) continue;
      held.delete(pitch);
      svg.append(
        s(
          "rect",
          {
            class: start < promptSteps ? "piano-note given" : "piano-note",
            x: LEFT + start * wide,
            y: y(pitch) + 1,
            width: (step - start) * wide - 1,
            height: TALL - 2,
            rx: 2,
          },
          s("title", `${pitchName(pitch)}, steps ${start + 1} to ${step}`),
        ),
      );
    }
    for (const pitch of frame) if (!held.has(pitch)) held.set(pitch, step);
  });
  const promptEnd = LEFT + promptSteps * wide;
  if (promptSteps) svg.append(s("line.now", { x1: promptEnd, x2: promptEnd, y1: 2, y2: "100%" }));
  return h(".scroller.piano", svg);
}
