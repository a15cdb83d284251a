// The drop zone: uploads a dropped or chosen file, or a pasted text, to the server on this computer.

import { announce, h, icon, put } from "../dom.js";
import { isAborted, post, problemBox, upload } from "../api.js";
import { bytes, percent } from "./format.js";

// The upload limit of the server; the command line has none.
const MAX_BYTES = 200 * 1024 * 1024;
// First bytes of readable files that are not plain text: gzip, zip, MIDI, and UTF-16 byte-order marks.
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
const SUGGESTED_TASKS = {
  language: "a plain text, to train a language model",
  classify: "a table with a text and its label in each row",
  translate: "a table with a source and a target sequence in each row",
};

/** The drop zone. `done(dataset)` is called after an upload. */
export function dropZone({ paste, signal, done }) {
  const input = h("input.visually-hidden", {
    type: "file",
    tabindex: -1,
    "aria-hidden": "true",
    id: "file",
    onchange: () => takeFile(input.files[0]),
  });
  const message = h("div");
  const pasteBox = pasteForm((text, name) => finish(post("/datasets", { text, name }, { signal })));
  pasteBox.hidden = !paste;
  const toggle = h(
    "button",
    {
      "aria-expanded": String(paste),
      onclick: () => {
        pasteBox.hidden = !pasteBox.hidden;
        toggle.ariaExpanded = String(!pasteBox.hidden);
        if (!pasteBox.hidden) pasteBox.querySelector("textarea").focus();
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
    pasteBox,
    message,
  );

  async function finish(uploading) {
    try {
      done(await uploading);
    } catch (problem) {
      if (!isAborted(problem)) put(message, problemBox(problem));
    }
  }

  async function takeFile(file) {
    if (!file) return;
    const error = file.size > MAX_BYTES ? tooLarge(file) : await notText(file);
    if (error) return put(message, error);
    const bar = h("i", { style: "width:0" });
    const progress = h("p.small", `Reading ${file.name}…`);
    put(message, h(".bar", bar), progress);
    announce(progress.textContent);
    await finish(
      upload(
        file,
        (fraction) => {
          bar.style.width = `${100 * fraction}%`;
          progress.textContent = `${file.name}: ${percent(fraction)} of ${bytes(file.size)}`;
        },
        { signal },
      ),
    );
  }

  listenForDrops(zone, (...nodes) => put(message, ...nodes), takeFile, signal);
  return zone;
}

// Drops are accepted on the whole page: a missed drop would make the browser open the file instead.
function listenForDrops(zone, show, takeFile, signal) {
  let depth = 0;
  const listen = (kind, fn) =>
    document.addEventListener(kind, (event) => event.dataTransfer?.types.includes("Files") && fn(event), { signal });
  const move = (by) => zone.classList.toggle("over", (depth = Math.max(0, depth + by)) > 0);
  listen("dragenter", () => move(1));
  listen("dragleave", () => move(-1));
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event) => {
    event.preventDefault();
    move(-depth);
    const { files, items } = event.dataTransfer;
    if ([...items].some((item) => item.webkitGetAsEntry?.()?.isDirectory))
      show(
        refusal(
          "That is a folder; the page reads one file at a time.",
          "The command line reads folders:",
          "seqloom check FOLDER",
        ),
      );
    else if (files.length > 1)
      show(
        refusal(
          "Those are several files; the page reads one at a time.",
          "The command line reads parallel files and separate validation files:",
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
    `${file.name} is ${bytes(file.size)}; the limit is ${bytes(MAX_BYTES)}.`,
    "Use the command line for large files:",
    `seqloom ${verb} ${name}`,
  );
}

// An error for a binary file, with its first bytes and its likely type; null for text.
async function notText(file) {
  const head = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  const pairs = [...head.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0"));
  const begins = (start) => pairs.join("").startsWith(start);
  if (!head.includes(0) || READABLE.some(begins)) return null;
  const kind = KINDS[Object.keys(KINDS).find(begins)];
  return refusal(
    `${file.name} is not text: it begins with the bytes ${pairs.join(" ").toUpperCase()}${kind ? `, as ${kind} does` : ""}.`,
    "Tasks read, for example:",
    null,
    h(
      "ul",
      Object.entries(SUGGESTED_TASKS).map(([name, text]) => h("li", h("strong", name), `: ${text}`)),
    ),
  );
}

const refusal = (sentence, advice, command, ...more) =>
  h(
    ".problem-box",
    { role: "alert" },
    h("p.problem-title", icon("problem"), h("strong", "Problem: "), sentence),
    h("p", advice, command && [" ", h("code", command)]),
    more,
  );

function pasteForm(send) {
  const text = h("textarea.mono", {
    id: "paste",
    rows: 8,
    dir: "auto",
    dataset: { input: "" },
    placeholder: "one example per line; columns separated by tabs or commas",
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
