// Who runs, the verdict, and what it cost.
import { equality, figures, reason } from "../verdict.js";
import { h, put } from "./dom.js";
import { sentence } from "./say.js";
import { term } from "./tooltip.js";

export class Header {
  constructor(player) {
    this.player = player;
    this.title = h("h2", { class: "title" });
    this.where = h("span", { class: "where" });
    this.badge = h("span", { class: "badge", role: "status" });
    this.speed = h("span", { class: "speed" });
    this.notes = h("div", { class: "figures" });
    this.element = h(
      "header",
      { class: "head" },
      h("div", { class: "who" }, this.title, this.where),
      h("div", { class: "verdict" }, this.badge, this.speed, this.notes),
    );
  }

  /** Redraw; needed only when events or their summary changed. */
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
    const verdict = equality(model, payload);
    this.badge.className = `badge ${verdict.tone}`;
    const stage = payload.live && payload.stage;
    put(
      this.badge,
      h("span", { class: "mark", "aria-hidden": "true" }, verdict.mark),
      " ",
      ...sentence(this.player, stage ? this.#stage(stage) : verdict),
    );
    this.#figures();
  }

  #stage(stage) {
    const name = `player.stage.${stage.name}`;
    return {
      key: this.player.strings.has(name) ? name : "player.verdict.running",
      params: { done: stage.done, total: stage.total },
    };
  }

  #figures() {
    const { strings, payload } = this.player;
    const f = figures(payload);
    put(
      this.speed,
      f.speed === null
        ? ""
        : strings.say("player.times", { value: strings.num(f.speed, f.speed < 10 ? 2 : 1) }),
    );
    this.speed.hidden = f.speed === null;
    this.speed.classList.toggle("slow", f.speed !== null && f.speed < 1);
    const parts = [];
    if (f.speed !== null) {
      const word = f.speed >= 1.005 ? "faster" : f.speed <= 0.995 ? "slower" : "same";
      parts.push(term(this.player, "speedup_decode", strings.say(`player.speed.${word}`)));
    }
    if (f.passes !== null && f.tokens) {
      const key = f.plainPasses === null ? "player.passes_tokens" : "player.passes_not";
      parts.push(
        term(
          this.player,
          "passes",
          strings.say(key, {
            n: f.passes,
            passes: strings.num(f.passes),
            plain: strings.num(f.plainPasses),
            tokens: strings.num(f.tokens),
          }),
        ),
      );
    }
    if (f.tau !== null)
      parts.push(
        term(this.player, "tau", strings.say("player.tau", { value: strings.num(f.tau, 2) })),
      );
    if (f.acceptance !== null)
      parts.push(
        term(
          this.player,
          "acceptance",
          strings.say("player.acceptance", { value: strings.num(100 * f.acceptance) }),
        ),
      );
    put(
      this.notes,
      parts.flatMap((p, k) =>
        k ? [h("span", { class: "dot", "aria-hidden": "true" }, " · "), p] : [p],
      ),
    );
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
