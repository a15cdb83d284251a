// The list of guided tours; their code is loaded only when one starts or resumes.

/** Session storage key of the current step. */
export const KEY = "seqloom-tour";

export const TOURS = {
  train: "Train your first model",
  inside: "Look inside a model",
  compare: "Compare two runs",
};

/** Start a tour. */
export const startTour = async (name) => (await import("./tours.js")).start(name, TOURS[name]);

/** Resume the tour of this session after a page load. */
export const resumeTour = async () => sessionStorage.getItem(KEY) && (await import("./tours.js")).resume();
