// Findings of a data check: the parts of their text, and fixes that a button can apply.

const NAMES = {
  cp1252: "Windows-1252",
  cp1251: "Windows-1251",
  "iso-8859-1": "Latin-1",
  "latin-1": "Latin-1",
  "utf-16": "UTF-16",
};

/** Sentence, code frame, details and help of a finding, from the text that the command line prints. */
export function findingParts(text) {
  const [sentence, ...lines] = text.split("\n");
  const rest = lines.filter((line) => line.trim() && !/^\s*-->/.test(line));
  const frame = rest.filter((line) => /^\s*\d* \|/.test(line));
  const help = rest.filter((line) => /^\s*help:/.test(line));
  return {
    sentence,
    frame: frame.map((line) => line.replace(/^ {2}/, "")).join("\n"),
    details: rest.filter((line) => !frame.includes(line) && !help.includes(line)).map((line) => line.trim()),
    help: help.map((line) => line.trim().slice(5).trim()),
  };
}

/** Safe fixes: [{line, words, change: {encoding: "cp1252"}}]. */
export function fixesOf(finding, parts) {
  return parts.help.flatMap((line) => {
    const [, name, value] = /--(encoding|columns|format)[ =]['"]?([^\s'"]+)/.exec(line) ?? [];
    if (name)
      return [
        {
          line,
          change: { [name]: value },
          words: name === "columns" ? `Use the columns ${value}` : `Read as ${NAMES[value.toLowerCase()] ?? value}`,
        },
      ];
    const many = finding.lines?.length > 1;
    return /--skip-bad\b/.test(line)
      ? [
          {
            line,
            change: { skip_bad: "true" },
            words: many ? `Skip these ${finding.lines.length} lines` : "Skip bad lines",
          },
        ]
      : [];
  });
}
