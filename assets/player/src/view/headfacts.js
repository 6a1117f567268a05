// The evidence of a draft by a head: what it offered at a node, what it saw, and what it is.
import { chip, h } from "./dom.js";
import { sentence } from "./say.js";
import { term } from "./tooltip.js";

const MOST = 8; // tokens that left the window

export class HeadFacts {
  constructor(player) {
    this.player = player;
  }

  say(key, params) {
    return sentence(this.player, { key: `player.head.${key}`, params });
  }

  /** The parts below the fact about the wanted token, for the evidence `m` of a step. */
  content(m) {
    return [this.#offers(m), this.#seen(m), this.#gone(m), this.#head(m)];
  }

  /** Whether the head had offered what the model wanted. */
  known(m) {
    const params = { rank: m.rank?.rank ?? 0, p: { probability: m.rank?.p ?? 0 }, n: m.offers?.length ?? 0 };
    const key = m.rank ? (m.rank.cut ? `cut.${m.rank.cut}` : "had") : m.offers ? "had_not" : "unasked";
    return h("p", { class: "knew" }, this.say(key, params));
  }

  /** All offers behind a node: what became a guess and what did not. */
  #offers(m) {
    if (!m.offers) return null;
    const { model, strings } = this.player;
    const want = m.wanted?.token;
    const rows = m.offers.map(({ token, p, cut }) => {
      const row = h(
        "tr",
        { class: `${cut ? "cut" : "kept"}${token === want ? " wanted" : ""}` },
        h(
          "th",
          { scope: "row" },
          chip(model, token, 12),
          token === want
            ? h("span", { class: "star", title: strings.say("player.wanted") }, " ★")
            : null,
        ),
        h("td", { class: "meter" }, h("i", { class: "fill" })),
        h("td", { class: "num" }, strings.prob(p)),
        h("td", { class: "why-cut" }, strings.say(`player.cut.${cut || "kept"}`)),
      );
      row.querySelector(".fill").style.setProperty("width", `${Math.max(2, 100 * p).toFixed(0)}%`);
      return row;
    });
    const step = model.decoder.steps[this.player.scene.place.step];
    const title = this.say("offers", { node: { token: step.nodes[m.at].token } });
    return h(
      "div",
      { class: "mixed offers" },
      h("h4", {}, title),
      h("table", {}, h("tbody", {}, rows)),
    );
  }

  /** What the head saw in this step, in figures. */
  #seen(m) {
    const { strings } = this.player;
    const { evidence } = m;
    const kb = evidence.bytes / 1000;
    const whole = (kb / Math.max(1, m.kept)) * m.count;
    const size = (value) => strings.num(value, value < 10 ? 1 : 0);
    const beyond = evidence.distance >= evidence.trained;
    const rows = [
      ["mode", h("span", {}, strings.say(`player.head.mode.${evidence.mode}`))],
      ["entries", this.say("of", { n: m.kept, count: m.count })],
      ["distance", this.say(beyond ? "distance_beyond" : "distance_within", {
        distance: { number: evidence.distance, digits: Number.isInteger(evidence.distance) ? 0 : 1 },
        trained: evidence.trained,
      })],
      ["cache", m.kept < m.count ? this.say("cache_of", { kb: size(kb), all: size(whole) }) : this.say("cache_kb", { kb: size(kb) })],
      ["considered", this.say("considered_of", {
        n: evidence.considered,
        passes: { say: "player.now_passes", params: { n: evidence.levels } },
      })],
    ];
    return h(
      "div",
      { class: "sees" },
      h("h4", {}, term(this.player, "sight", strings.say("player.head.sees"))),
      h(
        "dl",
        { class: "facts" },
        rows.flatMap(([name, value]) => [
          h("dt", {}, this.say(`fact.${name}`)),
          h("dd", { class: name === "distance" && beyond ? "num bad" : "num" }, value),
        ]),
      ),
      evidence.truncated ? h("p", { class: "quiet" }, this.say("truncated")) : null,
    );
  }

  /** The tokens that the window has left behind since the step before. */
  #gone({ gone }) {
    if (!gone) return null;
    const { model } = this.player;
    return h(
      "p",
      { class: "quiet gone" },
      this.say("gone", { n: gone.n }),
      " ",
      gone.tokens.slice(0, MOST).map((id) => [chip(model, id, 10), " "]).flat(),
      gone.n > MOST ? "…" : null,
    );
  }

  #head({ head }) {
    if (!head) return null;
    const { strings } = this.player;
    return h(
      "p",
      { class: "quiet" },
      this.say("about", {
        label: head.label,
        size: head.size >= 1e6
          ? strings.say("player.head.millions", { value: strings.num(head.size / 1e6, 1) })
          : strings.num(head.size),
        trained: head.trained,
        vocabulary: head.vocabulary,
      }),
    );
  }
}
