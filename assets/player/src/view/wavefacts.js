// Beside a wave: where it reads the text so far, what it costs, and the story of one position.
import { history } from "../wave.js";
import { chip, h } from "./dom.js";
import { depthMap } from "./depthmap.js";
import { term } from "./tooltip.js";

export class WaveFacts {
  constructor(player) {
    this.player = player;
  }

  say(key, params) {
    return this.player.strings.say(`player.${key}`, params);
  }

  /** All of it for the evidence `m` of a step. */
  content(m) {
    return [this.#ledger(m.ledger), depthMap(this.player, m), this.#story(m)];
  }

  /** What the draft itself said of a refused guess. */
  refused(m) {
    const { model, scene, strings } = this.player;
    const step = model.decoder.steps[scene.place.step];
    const { since, right, probability, age } = history(step, m.node - 1, m.wanted.token);
    const params = { p: strings.prob(probability), n: age, round: since };
    const rounds = { n: right.length, rounds: right.join(", ") };
    return [
      this.say("wave.gave", params),
      right.length ? this.say("wave.had", rounds) : this.say("wave.never_had"),
    ].join(" ");
  }

  /** Calls and applications, always together, of this step and of the run so far. */
  #ledger(ledger) {
    if (!ledger) return null;
    return h(
      "div",
      { class: "ledger" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, term(this.player, "applications", this.say("ledger.title"))),
            ["mine", "plain"].map((name) => h("th", { scope: "col" }, this.say(`ledger.${name}`))),
            h("td"),
          ),
        ),
        this.#account("step", ledger.step),
        this.#account("run", ledger.run),
      ),
    );
  }

  #account(name, part) {
    const { strings, expert } = this.player;
    const rows = ["calls", "applications"].map((kind) => {
      const [mine, plain] = [part[kind], part.plain];
      const ratio = plain ? mine / plain : null;
      const times = ratio === null ? null : ratio < 1 ? 1 / ratio : ratio;
      const word = ratio === null ? "" : ratio < 1 ? "fewer" : ratio > 1 ? "more" : "same";
      return h(
        "tr",
        { class: `${kind} ${word}` },
        h("th", { scope: "row" }, this.say(`ledger.${kind}`)),
        h("td", { class: "num" }, strings.num(mine)),
        h("td", { class: "num" }, strings.num(plain)),
        h(
          "td",
          { class: "num factor" },
          word ? this.say(`ledger.${word}`, { times: strings.num(times, times < 10 ? 1 : 0) }) : "",
        ),
      );
    });
    const title = h("th", { colspan: "4", scope: "rowgroup" }, part.tokens ? this.say(`ledger.${name}`, { n: part.tokens }) : this.say(`ledger.${name}_open`));
    const more = expert
      ? h("tr", {}, h("td", { colspan: "4" }, this.say("ledger.readouts", { n: part.readouts })))
      : null;
    return h("tbody", { class: name }, h("tr", { class: "of" }, title), rows, more);
  }

  /** The guesses at the position in focus, round by round. */
  #story(m) {
    if (m.position === null) return null;
    const { model, strings } = this.player;
    const cells = m.rounds
      .map((cell, k) => [cell, k])
      .filter(([cell, k]) => cell && (k === 0 || cell[0] !== m.rounds[k - 1]?.[0] || cell[3] !== "frozen"));
    return h(
      "div",
      { class: "story" },
      h("h4", {}, this.say("wave.story", { position: m.position })),
      h(
        "ol",
        {},
        cells.map(([[id, p, age, state], k]) =>
          h(
            "li",
            { class: state, value: k + 1 },
            chip(model, id, 12),
            " ",
            h("span", { class: "num" }, strings.prob(p)),
            " ",
            h("span", { class: "quiet" }, this.say("wave.story_age", { n: age })),
          ),
        ),
      ),
    );
  }
}
