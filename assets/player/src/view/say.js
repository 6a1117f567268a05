// Sentences of the catalogue -> nodes, with tokens as chips and numbers in the reader's language.
import { told } from "../told.js";
import { chip } from "./dom.js";
import { term } from "./tooltip.js";

/** One parameter of a sentence, ready to be shown. */
function value(context, param) {
  const { strings, model } = context;
  if (Array.isArray(param)) return param.map((p) => value(context, p));
  if (typeof param === "number") return strings.num(param);
  if (param === null || typeof param !== "object") return param;
  if ("say" in param) return sentence(context, { key: param.say, params: param.params });
  if ("told" in param) return told(param.event, param.told, strings.lang);
  if ("token" in param) return chip(model, param.token);
  if ("seconds" in param) return strings.time(param.seconds);
  if ("probability" in param) return strings.prob(param.probability);
  if ("above" in param) return strings.above(param.above, param.digits);
  if ("number" in param) return strings.num(param.number, param.digits ?? 0);
  if ("source" in param) return strings.say(`player.source.${param.source}`);
  if ("term" in param) return term(context, param.term, strings.say(`player.word.${param.term}`));
  if ("cut" in param) return param.cut ? strings.say(`player.cut.${param.cut}`) : "";
  return param;
}

/** The nodes of a sentence {key, params}. */
export function sentence(context, { key, params = {} }) {
  const shown = Object.fromEntries(Object.entries(params).map(([k, v]) => [k, value(context, v)]));
  const seen = new Set();
  // A node stands in one place: a token that a sentence names twice is two chips.
  return context.strings.parts(context.strings.keyOf(key, params), shown).map((part) => {
    const again = typeof part === "object" && seen.has(part);
    seen.add(part);
    return again ? part.cloneNode(true) : part;
  });
}

/** A part of a sentence {say, params} that holds no tokens, as one string. */
export const phrase = (context, { say, params }) => sentence(context, { key: say, params }).join("");
