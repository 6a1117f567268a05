// The levels of a memory: what each answered, what they say together, how they did so far.
import { plain, shorten } from "../text.js";
import { chip, h, pieceNodes } from "./dom.js";
import { term } from "./tooltip.js";

export class Levels {
  constructor(player) {
    this.player = player;
  }

  /** One level that answered: its key, its likeliest continuations, how it got its weight. */
  level(hit, m, first) {
    const { strings, model } = this.player;
    const name = strings.say(`player.badge.level${hit.level}`);
    return h(
      "div",
      { class: `level o-level${hit.level}` },
      h(
        "div",
        { class: "level-head" },
        h("span", { class: "lv" }, first ? term(this.player, "level", name) : name),
        h(
          "span",
          { class: "key" },
          hit.key.map((id) => chip(model, id, 12)),
        ),
        this.#written(hit),
      ),
      h("div", { class: "level-body" }, this.#answers(hit, m), this.#factors(hit, m, first)),
    );
  }

  /** A row of a small bar chart: a name, a bar of `share` of the room, its number. */
  #bar(name, label, share, value) {
    const row = h(
      "div",
      { class: `bar ${name}` },
      label,
      h("span", { class: "track" }, h("i", { class: "fill" })),
      h("span", { class: "bar-p" }, value),
    );
    row.querySelector(".fill").style.setProperty("width", `${Math.max(1, 100 * share).toFixed(1)}%`);
    return row;
  }

  #answers(hit, m) {
    const { strings, model, expert } = this.player;
    const most = expert ? 5 : 3;
    const wanted = m.wanted?.token;
    const shown = hit.top.slice(0, most);
    // What the model wanted is worth a row even where a level ranked it lower.
    const behind = hit.top.findIndex(([id]) => id === wanted);
    if (behind >= most) shown[most - 1] = hit.top[behind];
    return h(
      "div",
      { class: "bars says" },
      shown.map(([id, p]) => {
        const own = id === wanted;
        const star = own ? h("span", { class: "star", title: strings.say("player.wanted") }, "★") : null;
        const label = h("bdi", { class: "bar-label" }, ...pieceNodes(shorten(model.look(id), 9)), star);
        const row = this.#bar(own ? "wanted" : "", label, p, strings.prob(p));
        row.title = `${plain(model.look(id))}  ${strings.prob(p)}`;
        return row;
      }),
    );
  }

  /** Base weight and sureness, which multiplied and scaled are the weight; alone it is 1 anyway. */
  #factors(hit, m, first) {
    if (m.hits.length < 2) return null;
    const { strings } = this.player;
    const two = (value) => strings.num(value, 2);
    const parts = { base: hit.base, sure: 1 - hit.entropy, weight: hit.weight };
    const word = (name) => {
      const said = strings.say(`player.word.${name}`);
      return h("span", { class: "bar-label" }, first ? term(this.player, name, said) : said);
    };
    const rows = Object.entries(parts).map(([name, value]) => this.#bar(name, word(name), value, two(value)));
    return h("div", { class: "bars counts" }, rows);
  }

  /** When, and behind what, this was learned: in short, and in a sentence when pointed at. */
  #written({ written: [step, , accepted] }) {
    const { strings } = this.player;
    const how = { [-1]: "prompt", [-2]: "earlier" }[step] ?? (accepted ? "accepted" : "rejected");
    const params = { step: step + 1 };
    const why = () => [strings.say(`player.written_why.${how}`, params)];
    return h("span", { class: "written" }, term(this.player, "written", strings.say(`player.written.${how}`, params), why));
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
              ? strings.say(`player.cut.${cut}`, { n: m.tried })
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
