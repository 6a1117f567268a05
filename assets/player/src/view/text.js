// The answer so far. Every token is laid out once; a seek only shows or hides, so nothing reflows.
// Tokens stand in bunches: a far seek hides bunches, and single tokens only where the text ends.
// Bunches out of sight follow once the player has come to rest.
import { dependence, instead, probeAt, tally } from "../pictures.js";
import { plain, unitPieces } from "../text.js";
import { askedNodes, otherwise } from "./asked.js";
import { h, put, text } from "./dom.js";
import { Find } from "./find.js";
import { readable } from "./reading.js";
import { sentence } from "./say.js";

export const SOURCES = ["level3", "level2", "level1", "copy", "lookup", "static", "wave", "das", "head"];

const BUNCH = 64; // tokens
const REST = 250; // ms
const LINE = 40; // px and more
const PART = 8; // bunches, which take a few ms

/** Visible where it matters: whitespace alone in its token, at its end, or more than one blank. */
function matters(found, k) {
  const p = found[k];
  if (p.kind === "newline" || p.kind === "tab") return true;
  return p.kind === "space" && (k > 0 || found.length === 1 || found[1].kind !== "text");
}

/** Pieces inline: whitespace stays itself, with a marker that is drawn but never copied. */
function inline(found) {
  return found.map((p, k) => {
    if (p.kind === "text") return document.createTextNode(p.raw);
    if (p.kind === "space" || p.kind === "tab" || p.kind === "newline")
      return matters(found, k)
        ? h("span", { class: `ws ${p.kind}`, "data-mark": p.shown }, p.raw)
        : document.createTextNode(p.raw);
    return h(
      "span",
      { class: `pc ${p.kind}`, "data-mark": p.shown },
      p.kind === "special" ? p.shown : "",
    );
  });
}

export class Text {
  constructor(player) {
    this.player = player;
    this.heading = h("h3");
    this.prompt = h("p", { class: "prompt" });
    this.flow = h("div", { class: "flow", dir: "auto", tabindex: "-1" });
    this.legend = h("ul", { class: "legend origins" });
    this.box = h("div", { class: "scroll", role: "group", tabindex: "0" }, this.prompt, this.flow);
    this.find = new Find(player);
    this.element = h(
      "section",
      { class: "panel answer" },
      h("div", { class: "answer-head" }, this.heading, this.find.button),
      this.find.element,
      this.box,
      this.legend,
    );
    this.spans = [];
    this.bunches = [];
    this.shown = 0;
    this.many = [];
    this.marked = [];
    this.at = 0;
    readable(player, this, (i) => this.#about(i));
    this.box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.flow.addEventListener("pointerover", (e) => this.#tip(e));
    this.flow.addEventListener("pointerout", () => this.player.tooltip.hide());
    this.flow.addEventListener("click", (e) => {
      const token = this.player.model.tokens[this.#index(e)];
      if (!token || String(getSelection?.() ?? "") !== "") return;
      this.player.seekStep(Math.max(0, token.step));
      // The seek may have closed it, and a finger does not hover.
      this.#tip(e);
    });
  }

  reset() {
    this.spans = [];
    this.bunches = [];
    this.many = [];
    this.marked = [];
    this.shown = 0;
    put(this.flow);
  }

  /** New events: more tokens. */
  grow() {
    this.refresh();
  }

  /** Append the tokens that arrived; the last unit is made anew, it may have been completed. */
  refresh() {
    const { strings, model } = this.player;
    text(this.heading, strings.say("player.answer"));
    this.box.setAttribute("aria-label", strings.say("player.answer"));
    put(this.prompt, askedNodes(this.player));
    this.#grow();
    this.#legend();
    this.#depends();
  }

  /** Frame the tokens in whose place the model would say another one. */
  #depends() {
    const { model, probe } = this.player;
    const found = probeAt(model, probe);
    this.spans.forEach((span, i) =>
      span.classList.toggle("depends", Boolean(dependence(found, i)?.changed)),
    );
    this.tops = null;
  }

  #grow() {
    const { model } = this.player;
    // A trailing unit may still change: units are grown from the first whose tokens are not all
    // here, or that was the last one last time.
    const redo = this.last ?? 0;
    while (this.spans.length > redo) this.spans.pop().remove();
    this.many = this.many.filter((u) => u.from < redo);
    this.shown = Math.min(this.shown, redo);
    const units = model.units;
    let k = units.length;
    while (k > 0 && units[k - 1].from >= redo) k--;
    const made = [];
    for (; k < units.length; k++) made.push(...this.#unit(units[k]));
    this.tops = null;
    this.spans.push(...made);
    this.#gather();
    this.last = units.length ? units[units.length - 1].from : 0;
  }

  /** Put the tokens that are new into bunches, and show as many tokens as before. */
  #gather() {
    const { spans, bunches } = this;
    while (bunches.length * BUNCH >= spans.length + BUNCH) bunches.pop().remove();
    for (let b = 0; b * BUNCH < spans.length; b++) {
      bunches[b] ??= this.flow.appendChild(h("span", { class: "bunch" }));
      const held = bunches[b].childElementCount;
      const part = spans.slice(b * BUNCH + held, (b + 1) * BUNCH);
      if (part.length) bunches[b].append(...part);
    }
    this.#reach(0, this.shown);
    this.settle();
  }

  /** Show the first `n` tokens where `was` are shown; bunches between them have to follow. */
  #reach(was, n) {
    const { spans } = this;
    this.edge = Math.floor(n / BUNCH);
    // Where the text ended and where it ends now; all other bunches are shown or hidden whole.
    for (const b of new Set([Math.floor(was / BUNCH), this.edge])) {
      for (let i = b * BUNCH; i < Math.min((b + 1) * BUNCH, spans.length); i++)
        spans[i].classList.toggle("off", b === this.edge && i >= n);
      this.#show(b, b);
    }
    this.#rest();
  }

  /** Show or hide bunches `from` to `to`, as far as there are any. */
  #show(from, to) {
    for (let b = Math.max(0, from); b <= Math.min(to, this.bunches.length - 1); b++)
      this.bunches[b].classList.toggle("off", b > this.edge);
  }

  /** Show or hide what is in sight when the box is scrolled to `at`. */
  #sight(at) {
    const starts = this.bunches.map((_, b) => this.tops[b * BUNCH]);
    const last = (y) => starts.findLastIndex((top) => top <= y);
    this.#show(last(at - LINE), last(at + this.view + LINE));
  }

  /** All bunches follow, part by part, once nothing has moved for a while. */
  #rest(from = 0) {
    clearTimeout(this.later);
    const next = () => {
      this.#show(from, from + PART - 1);
      this.later = 0;
      if (from + PART < this.bunches.length) this.#rest(from + PART);
    };
    this.later = setTimeout(next, from ? 0 : REST);
  }

  /** All bunches follow at once. */
  settle() {
    clearTimeout(this.later);
    this.later = 0;
    this.#show(0, this.bunches.length - 1);
  }

  #scrolled() {
    const byHand = Math.abs(this.box.scrollTop - this.at) > 1;
    this.at = this.box.scrollTop;
    if (byHand && this.later) this.settle();
  }

  #unit(unit) {
    const { model } = this.player;
    const size = unit.to - unit.from;
    const out = [];
    const whole = size > 1 && !unit.open ? unitPieces(model.bytes.slice(unit.from, unit.to)) : null;
    for (let i = unit.from; i < unit.to; i++) {
      const token = model.tokens[i];
      const span = h("span", { class: `t o-${token.source}`, "data-i": i });
      const alone = model.look(token.id);
      if (whole) {
        span.append(
          h("span", { class: "w" }, ...inline(whole[i - unit.from])),
          h("span", { class: "p" }, ...this.#part(alone, i - unit.from + 1, size)),
        );
      } else
        span.append(...(unit.open ? this.#part(alone, i - unit.from + 1, null) : inline(alone)));
      if (token.source === "bonus") this.#starBeforeBreak(span);
      out.push(span);
    }
    if (whole) this.many.push(unit);
    return out;
  }

  /** The star of a token that ends the line belongs on that line. */
  #starBeforeBreak(span) {
    const mark = span.lastElementChild;
    if (!mark?.classList.contains("newline") || mark !== span.lastChild) return;
    mark.setAttribute("data-mark", "★↵");
    span.classList.add("breaks");
  }

  /** A token of an unfinished glyph: its bytes, and which part of how many it is. */
  #part(found, k, n) {
    const label = this.player.strings.say(n ? "player.part" : "player.part_open", {
      k,
      total: n ?? 0,
    });
    const nodes = inline(found);
    if (found.some((p) => p.kind === "hex"))
      nodes.push(h("span", { class: "part", "data-mark": label }));
    return nodes;
  }

  #legend() {
    const { strings, model } = this.player;
    const used = new Set(model.tokens.map((t) => t.source));
    const names = [
      ...SOURCES.filter((o) => used.has(o)),
      ...(used.has("bonus") ? ["bonus"] : []),
      ...(used.has("own") ? ["own"] : []),
    ];
    const probe = probeAt(model, this.player.probe);
    const key = `${names.join()}|${probe ? this.player.probe : ""}`;
    if (this.legendKey === key && this.legendLang === strings) return;
    this.legendKey = key;
    this.legendLang = strings;
    put(
      this.legend,
      names.map((o) =>
        h(
          "li",
          {},
          h(
            "span",
            { class: `t sample o-${o}`, "aria-hidden": "true" },
            strings.has(`player.badge.${o}`) ? strings.say(`player.badge.${o}`) : "abc",
          ),
          " ",
          strings.say(`player.origin_short.${o}`),
        ),
      ),
      probe ? this.#frame(probe) : null,
    );
  }

  /** What a framed token means, with the name of the probe. */
  #frame(probe) {
    const { changed, n: of } = tally(probe);
    const params = { n: changed, of, instead: instead(this.player.model, probe) };
    return h(
      "li",
      { class: "k-depends" },
      h("span", { class: "t sample depends", "aria-hidden": "true" }, "abc"),
      " ",
      h("span", {}, sentence(this.player, { key: "player.probe.legend", params })),
    );
  }

  update(scene) {
    const n = Math.min(scene.tokens, this.spans.length);
    if (n !== this.shown) this.#reach(this.shown, n);
    for (const unit of this.many)
      for (let i = unit.from; i < unit.to; i++)
        this.spans[i].classList.toggle("whole", n >= unit.to);
    const moved = n !== this.shown;
    this.shown = n;
    this.#mark(scene, n);
    this.moved = moved || this.moved;
  }

  /** The tokens that the current step wrote. */
  #mark(scene, n) {
    for (const span of this.marked) span.classList.remove("fresh");
    this.marked = [];
    const { phase, step } = scene.place;
    if (phase !== "emit") return;
    const count = this.player.model.decoder.steps[step].emitted.length;
    for (let i = Math.max(0, n - count); i < n; i++) {
      this.spans[i].classList.add("fresh");
      this.marked.push(this.spans[i]);
    }
  }

  /** Keep the last token in view. Called when all else is drawn; places are measured once. */
  follow() {
    if (!this.moved) return;
    this.moved = false;
    this.tops ??= this.#places();
    const want = this.#wanted(this.shown ? this.tops[this.shown - 1] : 0);
    this.#sight(want);
    if (Math.abs(want - this.at) < 1) return;
    this.at = want;
    this.box.scrollTop = want;
  }

  /** Where to scroll so that the line at `top` is seen. */
  #wanted(top) {
    if (top >= this.at && top <= this.at + this.view - LINE) return this.at;
    // As little as it takes, and one line more: what is left behind is what a reader looks back to.
    return this.#line(top < this.at ? top - this.view * 0.6 : top - this.view + 70);
  }

  /** The first line that begins at `at` or below, or the last that fills the box: none is cut. */
  #line(at) {
    if (at <= 0) return 0;
    const least = Math.min(at, this.most);
    const top = this.tops.find((found) => found - this.lead >= least) ?? this.tops.at(-1);
    return top - this.lead;
  }

  #places() {
    const { lineHeight } = getComputedStyle(this.flow);
    // A token that wraps ends on the line after the one it begins on.
    const tall = this.spans.map((span) => span.offsetHeight);
    const line = Math.min(...tall);
    // Contained layout makes the flow what the places of its tokens count from.
    const above = this.spans[0]?.offsetParent === this.flow ? this.flow.offsetTop : 0;
    this.lead = Math.max(0, (Number.parseFloat(lineHeight) - line) / 2);
    this.#room();
    return this.spans.map((span, i) => above + span.offsetTop + tall[i] - line);
  }

  /** How much of the text the box shows, and how far it can be scrolled. */
  #room() {
    this.view = this.box.clientHeight;
    this.at = this.box.scrollTop;
    const below = Number.parseFloat(getComputedStyle(this.flow).paddingBottom);
    this.most = this.box.scrollHeight - this.view - below;
  }

  /** The box has another size: where its text breaks as before, its tokens stand where they stood. */
  resize() {
    const size = `${this.box.clientWidth}|${this.box.clientHeight}`;
    const breaks = `${this.box.clientWidth}|${this.flow.offsetHeight}`;
    if (size === this.size && breaks === this.breaks) return;
    if (breaks !== this.breaks) this.tops = null;
    else if (this.tops) this.#room();
    this.size = size;
    this.breaks = breaks;
    this.moved = true;
    this.follow();
  }

  #index(event) {
    const span = event.target.closest?.(".t[data-i]");
    return span && !span.closest(".off") ? +span.getAttribute("data-i") : -1;
  }

  #tip(event) {
    const i = this.#index(event);
    if (i >= 0) this.player.tooltip.show(event.target.closest(".t"), this.#about(i));
  }

  /** What is said about a token. */
  #about(i) {
    const { strings, model } = this.player;
    const token = model.tokens[i];
    return [
      plain(model.look(token.id)),
      strings.say(`player.origin.${token.source}`),
      ...otherwise(this.player, i),
      strings.say("player.token_where", { n: i + 1, step: token.step + 1, id: token.id }),
    ];
  }
}
