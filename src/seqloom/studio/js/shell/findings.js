// Findings of a check: their text taken apart, and the fixes that one button can make.

const NAMES = { cp1252: "Windows-1252", "iso-8859-1": "Latin-1", "latin-1": "Latin-1", "utf-16": "UTF-16", cp1251: "Windows-1251", "utf-8": "UTF-8" };

/** The sentence, the code frame, the details and the help of a finding, as the command line prints it. */
export function findingParts(text) {
  const [sentence, ...lines] = String(text).split("\n");
  const rest = lines.filter((line) => line.trim() && !line.trim().startsWith("-->"));
  const isFrame = (line) => /^\s*\d* \|/.test(line);
  const isHelp = (line) => line.trim().startsWith("help:");
  return {
    sentence,
    frame: rest.filter(isFrame).map((line) => line.replace(/^ {2}/, "")).join("\n"),
    details: rest.filter((line) => !isHelp(line) && !isFrame(line)).map((line) => line.trim()),
    help: rest.filter(isHelp).map((line) => line.trim().slice(5).trim()),
  };
}

/** Buttons for the fixes that are safe: [{line, words, change: {encoding: "cp1252"}}]. */
export function fixesOf(finding, parts) {
  return parts.help.flatMap((line) => {
    const change = changeOf(line);
    return change ? [{ line, change, words: words(change, finding) }] : [];
  });
}

function changeOf(line) {
  const found = /--(encoding|columns|format)[ =](\S+)/.exec(line);
  if (found) return { [found[1]]: found[2].replace(/^['"]|['"]$/g, "") };
  return /--skip-bad\b/.test(line) ? { skip_bad: "true" } : null;
}

function words(change, finding) {
  if (change.encoding) return `Read as ${NAMES[change.encoding.toLowerCase()] ?? change.encoding}`;
  if (change.columns) return `Use the columns ${change.columns}`;
  if (change.format) return `Read as ${change.format}`;
  const lines = finding.lines?.length ?? 0;
  return lines > 1 ? `Skip these ${lines} lines` : "Skip bad lines";
}
