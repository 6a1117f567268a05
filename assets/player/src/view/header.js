// Who runs, the verdict, and what it cost.
import { equality, figures, reason } from "../verdict.js";
import { h, put, text } from "./dom.js";
import { sentence } from "./say.js";
import { term } from "./tooltip.js";

export class Header {
  constructor(player) {
    this.player = player;
    this.title = h("h2", { class: "title" });
    this.where = h("span", { class: "where" });
    this.badge = h("span", { class: "badge", role: "status" });
    this.speed = h("span", { class: "speed" });
    this.terms = {};
    for (const name of ["speedup_decode", "passes", "tau", "acceptance"])
      this.terms[name] = term(player, name, "");
    this.notes = h("div", { class: "figures" }, Object.values(this.terms));
    this.element = h(
      "header",
      { class: "head" },
      h("div", { class: "who" }, this.title, this.where),
      h("div", { class: "verdict" }, this.badge, this.speed, this.notes),
    );
  }

  /** New events, another summary. */
  grow() {
    this.refresh();
  }

  refresh() {
    const { strings, model, payload } = this.player;
    const header = model.decoder.header;
    const name = header?.decoder ?? "";
    put(
      this.title,
      strings.has(`player.decoder.${name}`)
        ? strings.say(`player.decoder.${name}`)
        : name || strings.say("player.none"),
    );
    put(
      this.where,
      header
        ? strings.say("player.where", {
            model: header.model,
            device: header.device,
            dtype: header.dtype,
          })
        : "",
    );
    // Long names are cut after two lines; pointing at them shows the rest.
    this.title.title = this.title.textContent;
    this.where.title = this.where.textContent;
    const verdict = equality(model, payload);
    this.badge.className = `badge ${verdict.tone}`;
    const stage = payload.live && payload.stage;
    const { key, params } = stage ? this.#stage(stage) : verdict;
    // A status is read aloud when it changes, so it is left alone while it does not.
    const said = JSON.stringify([verdict.mark, key, params, strings.lang]);
    if (said !== this.said) {
      this.said = said;
      put(
        this.badge,
        h("span", { class: "mark", "aria-hidden": "true" }, verdict.mark),
        " ",
        ...sentence(this.player, { key, params }),
      );
    }
    this.#figures();
  }

  #stage(stage) {
    const name = `player.stage.${stage.name}`;
    return {
      key: this.player.strings.has(name) ? name : "player.verdict.running",
      params: { done: stage.done, total: stage.total },
    };
  }

  /** The buttons stay the same elements: a running decoder renews the figures all the time. */
  #figures() {
    const { strings, payload } = this.player;
    const f = figures(payload);
    const digits = f.speed !== null && f.speed < 10 ? 2 : 1;
    this.speed.hidden = f.speed === null;
    text(this.speed, strings.say("player.times", { value: strings.num(f.speed, digits) }));
    this.speed.classList.toggle("slow", f.speed !== null && f.speed < 1);
    const word = f.speed >= 1.005 ? "faster" : f.speed <= 0.995 ? "slower" : "same";
    const passes = f.plainPasses === null ? "player.passes_tokens" : "player.passes_not";
    const found = {
      speedup_decode: f.speed === null ? "" : strings.say(`player.speed.${word}`),
      passes:
        f.passes === null || !f.tokens
          ? ""
          : strings.say(passes, {
              n: f.passes,
              passes: strings.num(f.passes),
              plain: strings.num(f.plainPasses),
              tokens: strings.num(f.tokens),
            }),
      tau: f.tau === null ? "" : strings.say("player.tau", { value: strings.num(f.tau, 2) }),
      acceptance:
        f.acceptance === null
          ? ""
          : strings.say("player.acceptance", { value: strings.num(100 * f.acceptance) }),
    };
    for (const [name, value] of Object.entries(found)) {
      text(this.terms[name], value);
      this.terms[name].hidden = value === "";
    }
  }
}

/** Why the run was as fast as it was, in one sentence of measured ratios. */
export function speedSentence({ strings, payload }) {
  const why = reason(payload);
  if (!why) return strings.say("player.speed.unknown");
  const key = why.speed >= 1.005 ? "player.speed.why_faster" : "player.speed.why_slower";
  const two = (v) => strings.num(v, 2);
  return strings.say(key, {
    tau: two(why.tau),
    pass: two(why.pass),
    rest: two(why.rest),
    cost: two(why.pass + why.rest),
    speed: two(why.speed),
  });
}
