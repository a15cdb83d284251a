// The drop target: a file dropped or chosen, or a text pasted, goes to the server on this computer.

import { announce, h, icon, put } from "../dom.js";
import { left, post, problemBox, upload } from "../api.js";
import { bytes, percent } from "./words.js";

/** What the page accepts; the command line has no such limit. */
export const LARGEST = 200 * 1024 * 1024;
// Files that are not text but read all the same: gzip, zip, MIDI; and UTF-16, which has a mark.
const READABLE = ["1f8b", "504b", "4d546864", "fffe", "feff"];
const KINDS = { "89504e47": "a PNG picture", ffd8ff: "a JPEG picture", "25504446": "a PDF document", "7f454c46": "a program", "52494646": "a RIFF file, such as WAV sound", "4f676753": "an Ogg file", "494433": "an MP3 file" };

/** The target. `done(dataset)` hears when a file is there. */
export function dropZone({ paste = false, signal, done }) {
  const input = h("input", { type: "file", class: "unseen", tabindex: "-1", "aria-hidden": "true", id: "file" });
  const told = h("div");
  const pasting = pasteForm((text, name) => take(() => post("/datasets", { text, name }, { signal })));
  pasting.hidden = !paste;
  const zone = h(".drop", { id: "drop" },
    h("p", "Drop a text, CSV, TSV, JSONL or MIDI file here, or start from an example."),
    h(".row",
      h("button", { class: "primary", on: { click: () => input.click() } }, icon("file"), "Choose a file…"),
      h("button", { "aria-expanded": String(paste), on: { click: togglePaste } }, "Paste text")),
    input, pasting, told);

  function togglePaste(event) {
    pasting.hidden = !pasting.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!pasting.hidden));
    if (!pasting.hidden) pasting.querySelector("textarea").focus();
  }

  async function take(send) {
    try {
      done(await send());
    } catch (problem) {
      if (!left(problem)) tell(problemBox(problem));
    }
  }

  function tell(...nodes) {
    put(told, ...nodes);
  }

  async function takeFile(file) {
    tell();
    const wrong = file.size > LARGEST ? tooLarge(file) : await strange(file);
    if (wrong) return tell(wrong);
    const bar = h("i", { style: { width: "0%" } });
    const words = h("p.small", `Reading ${file.name}…`);
    tell(h(".bar", bar), words);
    announce(`Reading ${file.name}.`);
    await take(() => upload(file, (share) => {
      bar.style.width = percent(share).replace(" ", "");
      words.textContent = `${file.name}: ${percent(share)} of ${bytes(file.size)}`;
    }, { signal }));
  }

  input.addEventListener("change", () => input.files[0] && takeFile(input.files[0]));
  hearDrops(zone, tell, takeFile, signal);
  return zone;
}

// The whole page takes drops, so that nobody misses the target.
function hearDrops(zone, tell, takeFile, signal) {
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const hear = (kind, fn) => document.addEventListener(kind, fn, { signal });
  hear("dragenter", (event) => hasFiles(event) && (depth++, zone.classList.add("over")));
  hear("dragleave", (event) => hasFiles(event) && --depth <= 0 && zone.classList.remove("over"));
  hear("dragover", (event) => hasFiles(event) && event.preventDefault());
  hear("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    zone.classList.remove("over");
    const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    if (items.some((item) => item?.isDirectory)) return tell(refusal("That is a folder; the page reads one file at a time.", "The command line reads folders:", "seqloom check FOLDER"));
    if (event.dataTransfer.files.length > 1) return tell(refusal("Those are several files; the page reads one at a time.", "The command line reads parallel files and separate parts:", "seqloom train TASK train.tsv --valid valid.tsv --test test.tsv"));
    takeFile(event.dataTransfer.files[0]);
  });
}

function tooLarge(file) {
  const verb = /\.(txt|text)$/i.test(file.name) ? "train language" : "check";
  return refusal(`${file.name} is ${bytes(file.size)}; the page accepts ${bytes(LARGEST)}.`, "Use the command line for large files:", `seqloom ${verb} ${quoted(file.name)}`);
}

function quoted(name) {
  return /^[\w.\-/]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}

// Whether a file is no text at all: said at once, with what its first bytes look like.
async function strange(file) {
  const head = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  const hex = [...head.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!head.includes(0) || READABLE.some((start) => hex.startsWith(start))) return null;
  const kind = Object.entries(KINDS).find(([start]) => hex.startsWith(start))?.[1];
  const shown = hex.toUpperCase().replace(/(..)(?=.)/g, "$1 ");
  return refusal(`${file.name} is not text: it begins with the bytes ${shown}${kind ? `, as ${kind} does` : ""}.`,
    "Nearest to it, these tasks read:", null, [
      ["language", "a plain text, to go on writing like it"],
      ["classify", "a table with a text and its label in each line"],
      ["translate", "a table with a sequence and what it becomes"],
    ]);
}

function refusal(sentence, advice, line, tasks = []) {
  return h(".problem-box", { role: "alert", style: { textAlign: "left", marginTop: "14px" } },
    h("p.problem-title", icon("problem"), h("strong", "Problem: "), sentence),
    h("p", advice, line && [" ", h("code", line)]),
    tasks.length > 0 && h("ul", tasks.map(([name, words]) => h("li", h("strong", name), `: ${words}`))));
}

function pasteForm(send) {
  const text = h("textarea", { id: "paste", class: "mono", rows: 8, dir: "auto", dataset: { input: "" }, placeholder: "one line per example; columns by tabs or commas" });
  const name = h("input", { id: "paste-name", type: "text", value: "pasted.txt" });
  const submit = (event) => {
    event.preventDefault();
    if (text.value.trim()) send(text.value, name.value.trim() || "pasted.txt");
  };
  return h("form.stack", { style: { textAlign: "left", marginTop: "16px" }, on: { submit } },
    h(".field", h("label", { for: "paste" }, "Text"), text),
    h(".row", h("label", { for: "paste-name" }, "Name"), name, h("button", { type: "submit", class: "primary" }, "Use this text")));
}
