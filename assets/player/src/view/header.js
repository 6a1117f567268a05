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
      this.terms[name] = term(
        player,
        name,
        "",
        name === "speedup_decode" ? () => [totalSentence(player), speedSentence(player)] : undefined,
      );
    this.memory = term(player, "memory_rows", "", () => [this.#rows(), this.#scope()]);
    this.told = h("span", { class: "told" });
    this.brief = h("span", { class: "brief" }); // stands for it where there is less room
    const all = () => [speedSentence(player), totalSentence(player), ceilingSentence(player)];
    this.asked = term(player, "speedup_decode", "", all);
    this.asked.classList.add("asked");
    this.ceiling = term(player, "ceiling", "", () => [ceilingSentence(player)]);
    this.ceiling.classList.add("ceiling");
    this.reason = h("p", { class: "reason" }, this.asked, this.told, this.brief, this.ceiling);
    this.notes = h("div", { class: "figures" }, Object.values(this.terms));
    this.element = h(
      "header",
      { class: "head" },
      h("div", { class: "who" }, this.title, this.where, this.memory),
      h("div", { class: "verdict" }, this.badge, this.speed, this.notes),
      this.reason,
    );
  }

  /** New events, another summary. */
  grow() {
    this.refresh();
  }

  refresh() {
    const { strings, model, payload } = this.player;
    const header = model.decoder.header;
    const name = header?.decoder ?? this.player.opening?.decoder ?? "";
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
    this.memory.hidden = !header?.memory_rows;
    text(this.memory, this.#rows());
    // Long names are cut after two lines; pointing at them shows the rest.
    this.title.title = this.title.textContent;
    this.where.title = this.where.textContent;
    const verdict = equality(model, payload);
    this.badge.hidden = !header && !payload.live; // nothing ran, so nothing ended
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

  /** One line, cut where there is no room; pointing at it shows all of it. */
  #rows() {
    const { strings, model } = this.player;
    const { memory_rows: n, scope } = model.decoder.header ?? {};
    return n ? strings.say("player.memory_rows", { n, scope: shown(scope ?? "default") }) : "";
  }

  #scope() {
    const { strings, model } = this.player;
    return strings.say("player.memory_scope", { scope: model.decoder.header?.scope ?? "default" });
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
    const passes =
      f.plainPasses === null
        ? "player.passes_tokens"
        : f.plainPasses === f.passes
          ? "player.passes_same"
          : "player.passes_not";
    // Where reading the prompt took long, the gain after it is not the whole truth.
    const both = f.speed !== null && f.total !== null && f.reading > 0.2;
    this.#why();
    // An estimate that the run itself just passed says nothing that the speed-up does not say.
    const ceiling = f.ceiling === null || f.above === "near" ? "" : strings.num(f.ceiling, 2);
    text(this.ceiling, ceiling && strings.say(f.above === "far" ? "player.ceiling_above" : "player.ceiling", { value: ceiling }));
    this.ceiling.classList.toggle("doubt", f.above === "far");
    this.ceiling.hidden = ceiling === "";
    this.reason.hidden = this.reason.textContent === "";
    const found = {
      speedup_decode: f.speed === null
          ? ""
          : both
            ? strings.say("player.speed.after", { total: strings.num(f.total, 2) })
            : strings.say(`player.speed.${word}`),
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

  /** The question that everybody has, and its answer: the whole one, and one for little room. */
  #why() {
    const { strings, payload } = this.player;
    const why = reason(payload);
    this.asked.hidden = !why;
    text(this.asked, why ? strings.say(why.speed < 1 ? "player.speed.why_slow" : "player.speed.why_not") : "");
    text(this.told, why ? speedSentence(this.player) : "");
    text(this.brief, why ? briefSentence(this.player) : "");
  }
}

const MUCH = 0.25; // of what a pass costs

const shown = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

/** The speed-up with the reading of the prompt in it, and how much of the time that was. */
export function totalSentence({ strings, payload }) {
  const { total, reading } = figures(payload);
  if (total === null || reading === null) return "";
  return strings.say("player.speed.total", {
    total: strings.num(total, 2),
    share: strings.num(100 * reading),
  });
}

/** Why the run was as fast as it was, in one sentence of measured ratios. */
export function speedSentence({ strings, payload }) {
  const why = reason(payload);
  if (!why) return strings.say("player.speed.unknown");
  const two = (v) => strings.num(v, 2);
  return strings.say(why.faster ? "player.speed.why_faster" : "player.speed.why_slower", {
    tau: two(why.tau),
    rows: strings.num(why.rows, 1),
    free: why.free > 1 ? strings.say("player.speed.free", { n: why.free }) : "",
    pass: two(why.pass),
    rest: two(why.rest),
    cost: two(why.cost),
    sign: why.exact ? "=" : "≈",
    speed: two(why.speed),
  });
}

/** The same with the cost of a pass as one number, and its two parts where guessing is much of it. */
function briefSentence({ strings, payload }) {
  const { tau, pass, rest, cost, exact, speed } = reason(payload);
  const two = (v) => strings.num(v, 2);
  const key = speed < 1 ? "player.speed.brief_slow" : "player.speed.brief";
  const much = rest >= MUCH * cost;
  return strings.say(key, {
    tau: two(tau),
    cost: two(cost),
    parts: much ? strings.say("player.speed.parts", { pass: two(pass), rest: two(rest) }) : "",
    sign: exact ? "=" : "≈",
    speed: two(speed),
  });
}

/** How fast the run would have been, had all but its passes been free; "" where unknown. */
export function ceilingSentence({ strings, payload }) {
  const { ceiling, above } = figures(payload);
  if (ceiling === null) return "";
  const key = `player.speed.${{ far: "above", near: "at" }[above] ?? "ceiling"}`;
  return strings.say(key, above === "near" ? {} : { ceiling: strings.num(ceiling, 2) });
}
