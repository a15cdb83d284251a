// Which card draws which kind of view; a kind that is not here is drawn by the server.
import { beam, choices, components, forecast, next, piano, tags, trellis } from "./answers.js";
import { influence } from "./influence.js";
import { attention, heads, hierarchy } from "./looking.js";
import { cell, gates, gradient, states, surprise } from "./time.js";

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
