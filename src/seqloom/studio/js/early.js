// Sets the theme before the first paint, so that a dark page does not flash white.
try {
  document.documentElement.dataset.theme = localStorage.getItem("seqloom-theme") || "auto";
} catch {
  document.documentElement.dataset.theme = "auto";
}
