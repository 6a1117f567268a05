// Which iteration of the full pass the draft reads in the text so far, beside its own ages.
import { h, s } from "./dom.js";
import { term } from "./tooltip.js";

const WIDTH = 300;
const LEFT = 72;
const RIGHT = 8;
const ROW = 18;

/** Three rulers, 1 to the target's depth: the draft's ages, the prefix's keys, its values. */
export function depthMap(player, m) {
  const { strings } = player;
  const say = (key, params) => strings.say(`player.depth.${key}`, params);
  const low = Math.min(...m.ages);
  const high = Math.max(...m.ages);
  const most = Math.max(m.depth, high);
  const x = (n) => LEFT + ((n - 0.5) / most) * (WIDTH - LEFT - RIGHT);
  const full = m.pass !== null;
  const now = full ? Math.max(1, Math.round(m.pass * m.depth)) : null;
  // Coupled: as deep as the position itself, but never deeper than the full pass went.
  const at = (chosen, age) => chosen || Math.min(age, m.depth);
  const rows = full
    ? [["pass", [[1, now]]], ["keys", [[now, now]]], ["values", [[now, now]]]]
    : [
        ["ages", [[low, high]]],
        ["keys", [[at(m.keys, low), at(m.keys, high)]]],
        ["values", [[at(m.values, low), at(m.values, high)]]],
      ];
  const described = full
    ? say("label_pass", { depth: m.depth })
    : say("label", { low, high, keys: where(m.keys, m, say), values: where(m.values, m, say) });
  const picture = s(
    "svg",
    { class: "depths", viewBox: `0 0 ${WIDTH} ${3 * ROW + 13}`, role: "img", "aria-label": described },
    rows.map(([name, spans], r) => {
      const y = r * ROW + ROW / 2;
      const coupled = !full && name !== "ages" && (name === "keys" ? m.keys : m.values) === 0;
      return s(
        "g",
        { class: `ruler ${name}${coupled ? " coupled" : ""}` },
        s("text", { class: "name", x: LEFT - 8, y: y + 4 }, say(`row.${name}`)),
        s("path", { class: "ground", d: `M${LEFT},${y}H${WIDTH - RIGHT}` }),
        s("path", { class: "ticks", d: ticks(most, x, y) }),
        spans.map(([a, b]) => marker(name, x(a), x(b), y)),
      );
    }),
    s("text", { class: "tick", x: x(1), y: 3 * ROW + 11 }, "1"),
    s("text", { class: "tick", x: x(m.depth), y: 3 * ROW + 11 }, String(m.depth)),
  );
  return h(
    "div",
    { class: "depth-map" },
    h("h4", {}, term(player, "prefix_depth", say("title"))),
    picture,
    h("p", { class: "quiet" }, full ? say("told_pass", { depth: m.depth }) : told(m, say)),
  );
}

const where = (n, m, say) =>
  n === 0 ? say("own") : n === m.depth ? say("last", { depth: n }) : say("at", { depth: n });

function told(m, say) {
  const [keys, values] = [where(m.keys, m, say), where(m.values, m, say)];
  const read = m.keys === m.values ? say("both", { keys }) : say("two", { keys, values });
  return m.carry === null ? read : `${read} ${say(m.carry ? "carry" : "restart")}`;
}

function ticks(most, x, y) {
  const by = most > 64 ? 8 : most > 32 ? 4 : 1;
  let d = "";
  for (let n = 1; n <= most; n++)
    if (n === 1 || n % by === 0) d += `M${x(n).toFixed(1)},${y - (n % 8 === 0 ? 4 : 2.5)}v${n % 8 === 0 ? 8 : 5}`;
  return d;
}

/** A bar where several are read at once, and a shape of its own per ruler. */
function marker(name, from, to, y) {
  const shapes = {
    keys: `M${to},${y - 7}l6,7l-6,7l-6,-7z`,
    values: `M${to - 5.5},${y - 5.5}h11v11h-11z`,
  };
  const round = s("circle", { class: "point", cx: to, cy: y, r: 5.5 });
  return s(
    "g",
    {},
    to > from ? s("path", { class: "reach", d: `M${from},${y}H${to}` }) : null,
    shapes[name] ? s("path", { class: "point", d: shapes[name] }) : round,
  );
}
