// The levels of a memory: what each answered, what they say together, how they did so far.
import { plain, shorten } from "../text.js";
import { chip, h, pieceNodes } from "./dom.js";
import { term } from "./tooltip.js";

export class Levels {
  constructor(player) {
    this.player = player;
  }

  /** One level that answered: its key, its best continuations, its weight, who wrote it. */
  level(hit, count) {
    const { strings, model, expert } = this.player;
    const bars = hit.top
      .slice(0, 4)
      .map(([id, p]) =>
        h(
          "div",
          { class: "bar", title: `${plain(model.look(id))}  ${strings.prob(p)}` },
          h("span", { class: "track" }, h("i", { class: "fill", style: null }, "")),
          h("bdi", { class: "bar-label" }, ...pieceNodes(shorten(model.look(id), 8))),
          expert ? h("span", { class: "bar-p" }, strings.prob(p)) : null,
        ),
      );
    bars.forEach((bar, k) =>
      bar
        .querySelector(".fill")
        .style.setProperty("height", `${Math.max(2, Math.round(100 * hit.top[k][1]))}%`),
    );
    const sure = strings.num(1 - hit.entropy, 2);
    return h(
      "div",
      { class: `level o-level${hit.level}` },
      h(
        "div",
        { class: "level-head" },
        h("span", { class: "lv" }, strings.say(`player.badge.level${hit.level}`)),
        h(
          "span",
          { class: "key" },
          hit.key.map((id) => chip(model, id, 12)),
        ),
        h(
          "span",
          { class: "weight" },
          strings.say("player.weight", { value: strings.num(hit.weight, 2) }),
        ),
      ),
      h("div", { class: "bars" }, bars),
      h(
        "div",
        { class: "level-foot" },
        count > 1
          ? term(
              this.player,
              "weight",
              strings.say("player.weight_sum", { base: strings.num(hit.base, 2), sure }),
            )
          : null,
        h("span", { class: "written" }, this.#written(hit)),
      ),
    );
  }

  #written({ written: [step, , accepted] }) {
    const { strings } = this.player;
    if (step === -1) return strings.say("player.written.prompt");
    if (step === -2) return strings.say("player.written.earlier");
    return strings.say(accepted ? "player.written.accepted" : "player.written.rejected", {
      step: step + 1,
    });
  }

  /** What the levels say together, and what was cut from it and why. */
  mixed(m) {
    const { strings, model } = this.player;
    const most = Math.max(...m.candidates.map((c) => c[1]), 1e-9);
    const want = m.wanted && !m.refused ? m.wanted.token : m.wanted?.token;
    const rows = m.candidates
      .slice(0, this.player.expert ? 8 : 6)
      .map(([id, p, level, node, cut]) => {
        const row = h(
          "tr",
          { class: `${cut ? "cut" : "kept"}${id === want ? " wanted" : ""}` },
          h(
            "th",
            { scope: "row" },
            chip(model, id, 12),
            id === want
              ? h("span", { class: "star", title: strings.say("player.wanted") }, " ★")
              : null,
          ),
          h(
            "td",
            { class: "from" },
            strings.say(`player.badge.${level === 0 ? "copy" : `level${level}`}`),
          ),
          h("td", { class: "meter" }, h("i", { class: "fill" })),
          h("td", { class: "num" }, strings.prob(p)),
          h(
            "td",
            { class: "why-cut" },
            cut
              ? strings.say(`player.cut.${cut}`)
              : node >= 0
                ? strings.say("player.cut.kept")
                : "",
          ),
        );
        row
          .querySelector(".fill")
          .style.setProperty("width", `${Math.max(2, (100 * p) / most).toFixed(0)}%`);
        return row;
      });
    return h(
      "div",
      { class: "mixed" },
      h("h4", {}, term(this.player, "mixed", strings.say("player.mixed"))),
      h("table", {}, h("tbody", {}, rows)),
    );
  }

  /** How often every level had an answer so far, and how often it was right. */
  sofar(m) {
    const { strings } = this.player;
    const levels = Object.keys(m.tallies)
      .map(Number)
      .sort((a, b) => b - a);
    const rows = levels.map((level) => {
      const [asked, answered, right] = m.tallies[level];
      return h(
        "tr",
        { class: `o-level${level}` },
        h(
          "th",
          { scope: "row" },
          h("span", { class: "lv" }, strings.say(`player.badge.level${level}`)),
        ),
        h(
          "td",
          {},
          strings.say("player.answered", {
            n: answered,
            answered: strings.num(answered),
            asked: strings.num(asked),
          }),
        ),
        h(
          "td",
          {},
          answered
            ? strings.say("player.right", {
                right: strings.num(right),
                answered: strings.num(answered),
                share: strings.num((100 * right) / answered),
              })
            : "",
        ),
        h("td", { class: "num" }, strings.say("player.rows", { n: m.sizes[level] ?? 0 })),
      );
    });
    return rows.length
      ? h(
          "div",
          { class: "sofar" },
          h("h4", {}, term(this.player, "coverage", strings.say("player.sofar"))),
          h("table", {}, h("tbody", {}, rows)),
        )
      : null;
  }
}
