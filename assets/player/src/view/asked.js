// What was asked, in one line: earlier turns, pictures as one chip, the question; and what the model
// would have answered with another picture.
import { dependence, instead, probeAt, question } from "../pictures.js";
import { plain, textPieces } from "../text.js";
import { h, pieceNodes } from "./dom.js";
import { phrase } from "./say.js";
import { term } from "./tooltip.js";

/** A text in one line of at most about `limit` characters, as pieces. */
function flat(value, limit) {
  const line = value.replace(/\s+/g, " ").trim();
  return textPieces(line.length > limit * 1.1 ? line.slice(0, limit) + "…" : line).map((p) =>
    p.kind === "space" ? { ...p, kind: "text", shown: " " } : p,
  );
}

/** The line above the answer. */
export function askedNodes(player) {
  const asked = question(player.model);
  return [before(player, asked), chips(player, asked), pieceNodes(flat(asked.text, 200))].flat();
}

/** What was said before this question, where it was not the first. */
function before(player, { before: turns }) {
  const { strings } = player;
  const n = turns.filter((m) => m.role === "user").length;
  if (!n) return null;
  const lines = () =>
    turns
      .slice(-6)
      .map((m) => strings.say(`player.before.${m.role}`, { text: plain(flat(m.text, 160)) }));
  return [term(player, "before", strings.say("player.before", { n }), lines), " "];
}

/** Pictures are one thing in the prompt, however many tokens stand for them. */
function chips(player, { pictures, earlier }) {
  if (!pictures.length) return null;
  const { strings } = player;
  const n = pictures.reduce((sum, p) => sum + p.tokens, 0);
  const params = { k: pictures[0].k, last: pictures.at(-1).k, n, tokens: strings.num(n) };
  const chip = strings.say(`player.picture.chip${pictures.length > 1 ? "s" : ""}`, params);
  const after = earlier ? ` ${strings.say("player.picture.earlier")} ` : " ";
  return [h("span", { class: "pc picture" }, chip), after];
}

/** What the model would have said at token `i` of the answer with the other picture, in lines. */
export function otherwise(player, i) {
  const { strings, model } = player;
  const probe = probeAt(model, player.probe);
  const found = dependence(probe, i);
  if (!found) return [];
  const shown = (id) => plain(model.look(id));
  return [
    strings.say(found.changed ? "player.probe.changed" : "player.probe.same", {
      instead: phrase(player, instead(model, probe)),
      pick: shown(found.pick),
      kept: shown(found.kept),
    }),
    strings.say("player.probe.shift", {
      token: shown(model.tokens[i].id),
      before: strings.prob(Math.exp(Math.min(0, found.keptLogp))),
      after: strings.prob(Math.exp(Math.min(0, found.logp))),
      shift: `${found.shift < 0 ? "−" : "+"}${strings.num(Math.abs(found.shift), 2)}`,
    }),
  ];
}
