// The evidence of the node in focus: what every level answered, how it was mixed, what was cut.
import { cutNumbers } from "../caption.js";
import { priced, treeSize } from "../costs.js";
import { discountOf } from "../facts.js";
import { chip, h, put } from "./dom.js";
import { HeadFacts } from "./headfacts.js";
import { Levels } from "./levels.js";
import { sentence } from "./say.js";
import { sizeFact } from "./size.js";
import { WaveFacts } from "./wavefacts.js";

export class Memory {
  constructor(player) {
    this.player = player;
    this.levels = new Levels(player);
    this.waves = new WaveFacts(player);
    this.heads = new HeadFacts(player);
    this.heading = h("h3");
    this.body = h("div", { class: "scroll", role: "group", tabindex: "0" });
    this.element = h("section", { class: "panel memory" }, this.heading, this.body);
    this.key = "";
    this.scrolled = false;
    // Reading or setting a scroll position lays the page out: only when there is one.
    this.body.addEventListener("scroll", () => (this.scrolled = this.body.scrollTop > 0), {
      passive: true,
    });
  }

  refresh() {
    this.key = "";
    this.body.setAttribute("aria-label", this.player.strings.say("player.memory"));
  }

  update(scene) {
    const m = scene.memory;
    const key = `${scene.place.step}|${m.node}|${m.wanted ? 1 : 0}|${m.guess?.state}|${m.beat}|${pass(m)}|${scene.place.phase === "emit" || scene.place.phase === "finish"}|${this.player.expert}|${this.player.version}`;
    if (key === this.key) return;
    this.key = key;
    put(this.heading, this.#title(m));
    put(this.body, this.#content(m));
    if (this.scrolled) this.body.scrollTop = 0;
    this.scrolled = false;
  }

  say(key, params) {
    return sentence(this.player, { key: `player.${key}`, params });
  }

  #title(m) {
    if (m.kind === "memory") return this.say("memory_at", { node: { token: m.after } });
    if (m.kind === "wave") return this.say("wave.evidence");
    if (m.kind === "window") return this.say("guess_at", { node: { token: m.token } });
    if (m.kind === "span" || m.kind === "tree")
      return this.say("guess_at", { node: { token: m.token } });
    return this.say("memory");
  }

  #content(m) {
    const { waves, heads } = this.player.model;
    if (m.kind === "prefill")
      return h("p", { class: "quiet" }, this.say(waves ? "wave.prefill" : heads ? "head.prefill" : "memory_prefill"));
    if (m.kind === "none")
      return [
        h(
          "p",
          { class: "quiet" },
          this.say(
            m.decoder === "autoregressive"
              ? "memory_autoregressive"
              : waves
                ? "wave.none"
                : heads
                  ? "head.none"
                  : "memory_none",
          ),
        ),
        this.#expert(m),
      ];
    const parts = [this.#came(m), this.#fact(m)];
    if (m.kind === "wave") parts.push(...this.waves.content(m));
    if (m.kind === "window") parts.push(...this.heads.content(m));
    if (m.kind === "memory") parts.push(...this.#levels(m));
    if (m.kind === "tree") parts.push(h("p", { class: "quiet" }, this.say("memory_missing")));
    if (m.copied) parts.push(this.#span(m.copied));
    if (m.kind === "memory" || m.kind === "window") {
      const { model, scene } = this.player;
      parts.push(sizeFact(this.player, model.decoder.steps[scene.place.step]));
    }
    if (m.kind === "memory") parts.push(this.levels.sofar(m));
    parts.push(this.#expert(m));
    return parts;
  }

  /** Which level the guess came from that is looked at, or the accepted one behind it. */
  #came({ came }) {
    if (!came) return null;
    const badge = this.player.strings.say(`player.badge.${came.source}`);
    const params = { source: [badge, ", ", { source: came.source }] };
    params[came.how === "next" ? "next" : "node"] = { token: came.token };
    const { strings } = this.player;
    const levels = came.others.map((name) => strings.say(`player.badge.${name}`)).join(", ");
    const also = levels ? [" ", ...this.say("came.also", { levels })] : null;
    return h("p", { class: "came" }, this.say(`came.${came.how}`, params), also);
  }

  /** What the model wanted here, and what memory knew of it. */
  #fact(m) {
    const w = m.wanted;
    if (!w || (w.known === null && !m.refused && m.kind !== "window")) return null;
    const { strings } = this.player;
    const lines = [
      h(
        "p",
        { class: "want" },
        this.say(m.refused ? "fact_refused" : m.aside ? "fact_aside" : "fact_wanted", {
          wanted: { token: w.token },
          guess: { token: m.token },
        }),
      ),
      h(
        "p",
        { class: "nums" },
        this.say("fact_target", {
          p: { probability: w.probability },
          lead: { term: "margin" },
          margin: { number: w.margin, digits: 2 },
        }),
        m.refused && m.guess?.probability !== null
          ? [" ", ...this.say("fact_guess", { p: { probability: m.guess.probability } })]
          : null,
      ),
    ];
    if (m.kind === "window") lines.push(this.heads.known(m));
    if (w.known !== null)
      lines.push(
        h(
          "p",
          { class: "knew" },
          this.say(`known.${(w.known === "nothing" && w.row) || w.known}`, {
            rank: w.rank ?? 0,
            of: w.of ?? 0,
            level: { source: w.level === 0 ? "copy" : `level${w.level}` },
            word: { term: "share" },
            share: { above: w.share ?? 0, digits: 2 },
          }),
          w.known === "yes" && w.cut
            ? [" ", ...this.#cut(w)]
            : w.known === "yes" && w.node >= 0
              ? [" ", ...this.say("was_guess")]
              : null,
        ),
      );
    lines.push(this.#price(m, w));
    return h(
      "div",
      { class: `fact${m.refused ? " bad" : ""}`, "data-wanted": strings.say("player.wanted") },
      lines,
    );
  }

  #cut(w) {
    const { model, scene } = this.player;
    const size = w.cut === "cost" && treeSize(model, model.decoder.steps[scene.place.step]);
    if (size) return this.say("why_cut.cost_of", { n: size.guesses });
    const numbers = w.cut === "score" ? cutNumbers(w) : {};
    const params = { ...numbers, score: { term: "score" }, n: w.tried };
    return this.say(numbers.limit ? "why_cut.score_of" : `why_cut.${w.cut}`, params);
  }

  /** What a token cut for its cost had as a chance, against what a guess more would have cost. */
  #price(m, w) {
    const { model, scene, strings } = this.player;
    const { step: index } = scene.place;
    const step = model.decoder.steps[index];
    const head = m.kind === "window";
    const cut = head ? m.rank?.cut : w.cut;
    if (cut !== "cost") return null;
    const at = m.refused ? step.nodes[m.node].parent : m.node;
    const share = head ? m.rank.p : w.share;
    const discount = head ? 1 : discountOf(model, index, w.lookup, w.lookup.candidates[w.rank - 1]);
    const price = priced(model, step, at, [share, discount ?? 1]);
    if (!price) return null;
    const fine = (v) => strings.above(v, v < 0.1 ? 4 : 2);
    const factors = [
      head ? fine(share) : [{ term: "share" }, " ", fine(share)],
      at === 0 ? null : [{ term: "score" }, " ", fine(price.branch)],
      head || discount === null ? null : [{ term: "discount" }, " ", strings.num(discount, 2)],
    ].filter(Boolean);
    const three = (v) => strings.above(v, 3);
    const key = discount === null ? "undiscounted" : price.lesson > 0 ? "lesson" : "plain";
    return h(
      "p",
      { class: "nums price" },
      this.say(`price.${key}`, {
        factors: factors.flatMap((f, k) => (k ? [" × ", f] : [f])),
        chance: three(price.chance),
        lesson: strings.num(price.lesson, 2),
        gain: three(price.chance + price.lesson),
        need: three(price.need),
      }),
    );
  }

  #levels(m) {
    if (m.asked === null) return [h("p", { class: "quiet" }, this.say("memory_unasked"))];
    const out = [];
    if (!m.asked) out.push(h("p", { class: "quiet" }, this.say("memory_afterwards")));
    // Where the fact above has said it once is enough.
    if (!m.hits.length && !m.wanted?.row && m.wanted?.known !== "nothing")
      out.push(h("p", { class: "quiet" }, this.say(m.candidates.length ? "memory_copied" : "memory_empty")));
    out.push(...m.hits.map((hit, k) => this.levels.level(hit, m, k === 0)));
    if (m.hits.length === 1) out.push(h("p", { class: "quiet" }, this.say("memory_single")));
    if (m.candidates.length) out.push(this.levels.mixed(m));
    return out;
  }

  #span(span) {
    const { model } = this.player;
    const tokens = (ids, name) =>
      h(
        "bdi",
        { class: name },
        ids.map((id) => (id.picture ? this.#picture(id) : chip(model, id, 14))),
      );
    return h(
      "div",
      { class: "copied" },
      h("h4", {}, this.say("copied")),
      h(
        "p",
        {},
        this.say(span.inPrompt ? "copied_prompt" : "copied_answer", {
          n: span.length,
          start: span.start,
        }),
      ),
      h(
        "p",
        { class: "context" },
        tokens(span.before, "before"),
        tokens(span.match, "match"),
        h("span", { class: "arrow" }, " → "),
        tokens(span.copied, "next"),
      ),
    );
  }

  /** A picture among tokens is one chip. */
  #picture({ picture, n }) {
    const { strings } = this.player;
    const words = strings.say("player.picture.chip", { k: picture, n, tokens: strings.num(n) });
    return h("span", { class: "pc picture" }, words);
  }

  /** Ids, probabilities, entropies, seconds: only when asked for. */
  #expert(m) {
    const { strings, model, expert, scene } = this.player;
    const step = model.decoder.steps[scene.place.step];
    if (!expert || !step) return null;
    const node = step.nodes[m.node ?? 0];
    const line = (key, params) => h("div", {}, strings.say(`player.expert.${key}`, params));
    const seen = m.wanted !== null && m.wanted !== undefined;
    const { seconds } = step;
    return h(
      "div",
      { class: "expert" },
      line("node", {
        node: m.node ?? 0,
        id: node.token,
        order: node.order,
        score: node.score === null ? "–" : strings.num(node.score, 4),
      }),
      seen
        ? line("target", {
            logp: node.logp === null ? "–" : strings.num(node.logp, 3),
            pick: node.pick,
            margin: strings.num(node.margin, 3),
            tail: strings.num(node.tail, 3),
            entropy:
              node.entropy === undefined || node.entropy === null
                ? "–"
                : strings.num(node.entropy, 3),
          })
        : null,
      seen
        ? h(
            "div",
            {},
            node.top
              .slice(0, 5)
              .map(([id, logp]) => [
                chip(model, id, 10),
                h("span", { class: "p" }, ` ${id}: ${strings.prob(Math.exp(logp))}  `),
              ]),
          )
        : null,
      line("seconds", {
        draft: strings.time(seconds.draft),
        verify: strings.time(seconds.verify),
        commit: strings.time(seconds.commit),
        total: strings.time(seconds.total),
        cache: step.cache_length,
      }),
    );
  }
}

/** How far the full pass of a wave is, in the whole iterations that its picture shows. */
const pass = (m) => (m.pass === null || m.pass === undefined ? "" : Math.round(m.pass * m.depth));
