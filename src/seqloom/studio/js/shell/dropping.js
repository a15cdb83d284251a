// The drop target: a file dropped or chosen, or a text pasted, goes to the server on this computer.

import { announce, h, icon, put } from "../dom.js";
import { left, post, problemBox, upload } from "../api.js";
import { bytes, percent } from "./words.js";

// What the page accepts; the command line has no such limit.
const LARGEST = 200 * 1024 * 1024;
// Files that are not text but read all the same: gzip, zip, MIDI; and UTF-16, which has a mark.
const READABLE = ["1f8b", "504b", "4d546864", "fffe", "feff"];
const KINDS = {
  "89504e47": "a PNG picture",
  ffd8ff: "a JPEG picture",
  25504446: "a PDF document",
  "7f454c46": "a program",
  52494646: "a WAV sound",
  "4f676753": "an Ogg file",
  494433: "an MP3 file",
};
const NEAREST = {
  language: "a plain text, to go on writing like it",
  classify: "a table with a text and its label in each line",
  translate: "a table with a sequence and what it becomes",
};

/** The target. `done(dataset)` hears when a file is there. */
export function dropZone({ paste, signal, done }) {
  const input = h("input.unseen", {
    type: "file",
    tabindex: -1,
    "aria-hidden": "true",
    id: "file",
    onchange: () => takeFile(input.files[0]),
  });
  const told = h("div");
  const pasting = pasteForm((text, name) => take(post("/datasets", { text, name }, { signal })));
  pasting.hidden = !paste;
  const toggle = h(
    "button",
    {
      "aria-expanded": String(paste),
      onclick: () => {
        pasting.hidden = !pasting.hidden;
        toggle.ariaExpanded = String(!pasting.hidden);
        if (!pasting.hidden) pasting.querySelector("textarea").focus();
      },
    },
    "Paste text",
  );
  const zone = h(
    ".drop",
    { id: "drop" },
    h("p", "Drop a text, CSV, TSV, JSONL or MIDI file here, or start from an example."),
    h(".row", h("button.primary", { onclick: () => input.click() }, icon("file"), "Choose a file…"), toggle),
    input,
    pasting,
    told,
  );

  async function take(sent) {
    try {
      done(await sent);
    } catch (problem) {
      if (!left(problem)) put(told, problemBox(problem));
    }
  }

  async function takeFile(file) {
    if (!file) return;
    const wrong = file.size > LARGEST ? tooLarge(file) : await strange(file);
    if (wrong) return put(told, wrong);
    const bar = h("i", { style: "width:0" });
    const words = h("p.small", `Reading ${file.name}…`);
    put(told, h(".bar", bar), words);
    announce(words.textContent);
    await take(
      upload(
        file,
        (share) => {
          bar.style.width = `${100 * share}%`;
          words.textContent = `${file.name}: ${percent(share)} of ${bytes(file.size)}`;
        },
        { signal },
      ),
    );
  }

  hearDrops(zone, (...nodes) => put(told, ...nodes), takeFile, signal);
  return zone;
}

// The whole page takes drops, so that nobody misses the target.
function hearDrops(zone, tell, takeFile, signal) {
  let depth = 0;
  const hear = (kind, fn) =>
    document.addEventListener(kind, (event) => event.dataTransfer?.types.includes("Files") && fn(event), { signal });
  const move = (by) => zone.classList.toggle("over", (depth = Math.max(0, depth + by)) > 0);
  hear("dragenter", () => move(1));
  hear("dragleave", () => move(-1));
  hear("dragover", (event) => event.preventDefault());
  hear("drop", (event) => {
    event.preventDefault();
    move(-depth);
    const { files, items } = event.dataTransfer;
    if ([...items].some((item) => item.webkitGetAsEntry?.()?.isDirectory))
      tell(
        refusal(
          "That is a folder; the page reads one file at a time.",
          "The command line reads folders:",
          "seqloom check FOLDER",
        ),
      );
    else if (files.length > 1)
      tell(
        refusal(
          "Those are several files; the page reads one at a time.",
          "The command line reads parallel files and separate parts:",
          "seqloom train TASK train.tsv --valid valid.tsv",
        ),
      );
    else takeFile(files[0]);
  });
}

function tooLarge(file) {
  const verb = /\.te?xt$/i.test(file.name) ? "train language" : "check";
  const name = /^[\w.-]+$/.test(file.name) ? file.name : `'${file.name.replaceAll("'", `'\\''`)}'`;
  return refusal(
    `${file.name} is ${bytes(file.size)}; the page accepts ${bytes(LARGEST)}.`,
    "Use the command line for large files:",
    `seqloom ${verb} ${name}`,
  );
}

// Whether a file is no text at all: said at once, with what its first bytes look like.
async function strange(file) {
  const head = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  const pairs = [...head.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0"));
  const begins = (start) => pairs.join("").startsWith(start);
  if (!head.includes(0) || READABLE.some(begins)) return null;
  const kind = KINDS[Object.keys(KINDS).find(begins)];
  return refusal(
    `${file.name} is not text: it begins with the bytes ${pairs.join(" ").toUpperCase()}${kind ? `, as ${kind} does` : ""}.`,
    "Nearest to it, these tasks read:",
    null,
    h(
      "ul",
      Object.entries(NEAREST).map(([name, words]) => h("li", h("strong", name), `: ${words}`)),
    ),
  );
}

const refusal = (sentence, advice, line, ...more) =>
  h(
    ".problem-box",
    { role: "alert" },
    h("p.problem-title", icon("problem"), h("strong", "Problem: "), sentence),
    h("p", advice, line && [" ", h("code", line)]),
    more,
  );

function pasteForm(send) {
  const text = h("textarea.mono", {
    id: "paste",
    rows: 8,
    dir: "auto",
    dataset: { input: "" },
    placeholder: "one line per example; columns by tabs or commas",
  });
  const name = h("input", { id: "paste-name", type: "text", value: "pasted.txt" });
  const onsubmit = (event) => {
    event.preventDefault();
    if (text.value.trim()) send(text.value, name.value.trim() || "pasted.txt");
  };
  return h(
    "form.stack",
    { onsubmit },
    h(".field", h("label", { for: "paste" }, "Text"), text),
    h(
      ".row",
      h("label", { for: "paste-name" }, "Name"),
      name,
      h("button.primary", { type: "submit" }, "Use this text"),
    ),
  );
}
