// Why a tree is as large as it is, in words and as a small picture of what a pass costs.
import { costCurve, sizesUsed, treeSize } from "../costs.js";
import { h, s } from "./dom.js";
import { term } from "./tooltip.js";

const WIDTH = 300;
const HEIGHT = 70;
const FOOT = 16; // room for the names of the axis

/** The size of a step's tree explained, or null where its cost did not decide. */
export function sizeFact(player, step) {
  const { strings, model } = player;
  const size = treeSize(model, step);
  if (!size) return null;
  const two = (v) => strings.num(v, 2);
  const params = {
    n: size.guesses,
    worth: two(size.worth),
    cost: two(size.cost),
    more: strings.num(size.more, size.more < 0.1 ? 3 : 2),
  };
  const told = size.guesses
    ? `${strings.say(`player.size.${size.lesson > 0 ? "best" : "plain"}`, params)} ${strings.say("player.size.more", params)}`
    : strings.say("player.size.none", params);
  return h(
    "div",
    { class: "size" },
    h("h4", {}, term(player, "rows", strings.say("player.size.title"))),
    h("p", {}, told),
    picture(player, step.nodes.length),
  );
}

/** The measured curve, the sizes that this run used, and this step's own. */
function picture({ strings, model }, rows) {
  const curve = costCurve(model.decoder.header);
  const used = sizesUsed(model.decoder);
  const most = Math.max(8, ...used.map(([n]) => n));
  const right = curve.rows.find((n) => n > most) ?? most + 1;
  const top = Math.max(1.2, ...curve.points.filter((_, i) => curve.rows[i] <= right));
  const x = (n) => 4 + (n / right) * (WIDTH - 10);
  const y = (c) => HEIGHT - FOOT - (c / top) * (HEIGHT - FOOT - 8);
  const xy = (n, c) => `${x(n).toFixed(1)},${y(c).toFixed(1)}`;
  const knots = [...curve.rows.filter((n) => n < right), right];
  const often = Math.max(...used.map(([, count]) => count));
  const wide = Math.max(2, Math.min(8, x(2) - x(1) - 2));
  const at = curve.at(rows);
  const label = strings.say("player.size.picture", { n: rows, cost: strings.num(at, 2) });
  const text = (name, px, py, words) => s("text", { class: name, x: px, y: py }, words);
  return s(
    "svg",
    { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    used.map(([n, count]) => {
      const tall = Math.max(1.5, (count / often) * 0.4 * (HEIGHT - FOOT));
      const box = { x: x(n) - wide / 2, y: HEIGHT - FOOT - tall, width: wide, height: tall };
      return s("rect", { class: "used", ...box });
    }),
    s("path", { class: "ground", d: `M4,${HEIGHT - FOOT}H${WIDTH - 6}` }),
    s("path", { class: "line", d: `M${knots.map((n) => xy(n, curve.at(n))).join("L")}` }),
    curve.rows
      .map((n, i) => [n, curve.points[i]])
      .filter(([n]) => n <= right)
      .map(([n, c]) => s("circle", { class: "timed", cx: x(n), cy: y(c), r: 2.6 })),
    s("path", { class: "here", d: `M${xy(rows, at)}V${HEIGHT - FOOT}` }),
    s("circle", { class: "here", cx: x(rows), cy: y(at), r: 4.6 }),
    text("from", x(1), HEIGHT - 3, `1 ${strings.say("player.size.axis", { n: 1 })}`),
    text("to", WIDTH - 4, HEIGHT - 3, `${right} ${strings.say("player.size.axis", { n: right })}`),
    text("to", WIDTH - 4, y(curve.at(right)) < 14 ? y(curve.at(right)) + 20 : y(curve.at(right)) - 6, strings.say("player.times", { value: strings.num(curve.at(right), 1) })),
  );
}
