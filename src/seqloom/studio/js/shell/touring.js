// The tours there are; what they do is loaded when one is begun, or was under way.

/** Where the session keeps the step. */
export const KEY = "seqloom-tour";

export const TOURS = {
  train: "Train your first model",
  inside: "Look inside a model",
  compare: "Compare two runs",
};

/** Begin a tour. */
export const beginTour = async (name) => (await import("./tours.js")).begin(name, TOURS[name]);

/** Go on with the tour that another page, or this one before its reload, has begun. */
export const resumeTour = async () => sessionStorage.getItem(KEY) && (await import("./tours.js")).resume();
