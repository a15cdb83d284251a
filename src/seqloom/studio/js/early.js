// Before the first paint: the chosen theme, so that a dark page does not flash white.
try {
  document.documentElement.dataset.theme = localStorage.getItem("seqloom-theme") || "auto";
} catch {
  document.documentElement.dataset.theme = "auto";
}
