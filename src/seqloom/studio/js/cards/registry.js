// The registry of cards by kind of view; other views are rendered by the server.
import { beam, choices, components, forecast, next, piano, tags, trellis } from "./outputs.js";
import { influence } from "./attribution.js";
import { attention, heads, hierarchy } from "./attention.js";
import { cell, gates, gradient, states, surprise } from "./activations.js";

export const KINDS = {
  attention,
  heads,
  hierarchy,
  gates,
  states,
  cell,
  surprise,
  influence,
  next,
  choices,
  beam,
  tags,
  trellis,
  forecast,
  components,
  gradient_flow: gradient,
  gradient,
  piano_roll: piano,
};
