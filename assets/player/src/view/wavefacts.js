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

  /** Which rounds had a refused guess right. */
  #had(m) {
    const { model, scene } = this.player;
    const step = model.decoder.steps[scene.place.step];
    const { right } = history(step, m.node - 1, m.wanted.token);
    const rounds = { n: right.length, rounds: right.join(", ") };
    return right.length ? this.say("wave.had", rounds) : this.say("wave.never_had");
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
        h("th", { scope: "row" }, this.#kind(name, kind)),
        h("td", { class: "num" }, strings.num(mine)),
        h("td", { class: "num" }, strings.num(plain)),
        h(
          "td",
          { class: "num factor" },
          word ? this.say(`ledger.${word}`, { times: strings.num(times, times < 10 ? 1 : 0) }) : "",
        ),
      );
    });
    const whose = part.tokens
      ? this.say(`ledger.${name}`, { n: part.tokens })
      : this.say(`ledger.${name}_open`);
    const title =
      name === "run"
        ? h("th", { colspan: "4", scope: "rowgroup" }, whose)
        : [
            h("th", { scope: "rowgroup" }, whose),
            ...["mine", "plain"].map((of) => h("th", { scope: "col" }, this.say(`ledger.${of}`))),
            h("td"),
          ];
    const more = expert
      ? h("tr", {}, h("td", { colspan: "4" }, this.say("ledger.readouts", { n: part.readouts })))
      : null;
    return h("tbody", { class: name }, h("tr", { class: "of" }, title), rows, more);
  }

  /** What a row counts; explained where it stands first. */
  #kind(name, kind) {
    const label = this.say(`ledger.${kind}`);
    return name === "step" ? term(this.player, "applications", label) : label;
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
      m.refused && m.position === m.node ? h("p", { class: "quiet" }, this.#had(m)) : null,
    );
  }
}
