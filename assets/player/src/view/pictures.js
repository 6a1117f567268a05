// The pictures of the prompt beside the lanes, and beside one of them what a probe put in its place.
import { instead, link, named, otherName, pictures, probeAt, tally } from "../pictures.js";
import { plain } from "../text.js";
import { h, put, text } from "./dom.js";
import { phrase } from "./say.js";
import { term } from "./tooltip.js";

/** A row of buttons, one of which is pressed. */
export function choice(label, options, current, choose, name = "") {
  return h(
    "div",
    { class: `segs ${name}`, role: "group", "aria-label": label },
    options.map(([value, words]) =>
      h(
        "button",
        {
          type: "button",
          class: words.length > 10 ? "seg long" : "seg",
          title: words.length > 10 ? words : null,
          "aria-pressed": String(value === current),
          "data-value": String(value),
          onclick: () => choose(value),
        },
        words,
      ),
    ),
  );
}

export class Pictures {
  constructor(player) {
    this.player = player;
    this.frames = h("div", { class: "frames" });
    this.line = h("p", { class: "line" });
    this.notes = h("p", { class: "notes" });
    this.switches = h("div", { class: "picks" });
    this.tally = term(player, "depends", "", () => this.#changes());
    this.element = h(
      "section",
      { class: "panel pictures", hidden: true },
      this.frames,
      h("div", { class: "about" }, this.line, this.notes, this.switches, this.tally),
    );
    this.rest();
  }

  /** Another run: the first picture, or the one that was probed, as the model saw it. */
  rest() {
    this.at = this.player.model.probes.at(-1)?.replaced ?? 0;
    this.as = "seen";
    this.key = "";
  }

  get all() {
    return pictures(this.player.model, this.player.strings.lang);
  }

  /** The picture that is looked at. */
  get current() {
    return this.all[this.at] ?? this.all[0];
  }

  /** The probe that is looked at, where it is about this picture. */
  get probe() {
    const { model, probe } = this.player;
    const found = probeAt(model, probe);
    return found && found.replaced === this.at ? found : null;
  }

  /** [link, width, height] of a picture in the way in which it is looked at. */
  source(picture) {
    const shown = (this.as === "given" && picture.given) || picture.seen;
    return [link(shown), shown.width, shown.height];
  }

  grow() {
    const { decoder, probes } = this.player.model;
    if (this.key !== `${Boolean(decoder.header)}|${probes.length}`) this.refresh();
  }

  refresh() {
    const { decoder, probes } = this.player.model;
    this.key = `${Boolean(decoder.header)}|${probes.length}`;
    const { all } = this;
    this.element.hidden = !all.length;
    this.player.lightbox.refresh();
    if (!all.length) return;
    const { strings } = this.player;
    this.element.setAttribute("aria-label", strings.say("player.picture.region", { n: all.length }));
    this.at = Math.min(this.at, all.length - 1);
    const held = this.#held();
    this.frames.classList.toggle("many", all.length > 1);
    this.element.classList.toggle("several", all.length > 1 || probes.length > 0);
    put(this.frames, this.figures());
    this.#about();
    put(this.switches, this.ways(), this.probes());
    if (held) this.element.querySelector(held)?.focus();
  }

  /** What finds the control again that has the focus. */
  #held() {
    const active = this.element.getRootNode().activeElement;
    if (!this.element.contains(active)) return null;
    if (active.dataset.value !== undefined) return `.seg[data-value="${active.dataset.value}"]`;
    return active.dataset.picture === undefined ? null : `[data-picture="${active.dataset.picture}"]`;
  }

  /** Every picture, and beside the one that is looked at what stood there instead. */
  figures(large = false) {
    const { all, probe } = this;
    const found = large ? [[this.current, this.at]] : all.map((p, i) => [p, i]);
    const out = found.map(([p, i]) => this.#figure(p, i, large));
    if (probe) out.splice(large ? 1 : this.at + 1, 0, this.#other(probe, large));
    return out;
  }

  #figure(picture, i, large) {
    const { strings } = this.player;
    const [src, width, height] = this.source(picture);
    const words = { k: i + 1, name: named(picture.name), width, height };
    const alt = strings.say(`player.picture.alt_${this.as === "given" && picture.given ? "given" : "seen"}`, words);
    const image = this.#image(src, [width, height], alt);
    const several = this.all.length > 1;
    const caption = this.probe && i === this.at
      ? strings.say("player.picture.recorded")
      : several && !large
        ? strings.say("player.picture.number", { k: i + 1 })
        : "";
    return h(
      "figure",
      { class: i === this.at ? "at" : null },
      large ? image : this.#button(image, i, several && i !== this.at),
      caption && h("figcaption", {}, caption),
    );
  }

  #button(image, i, choose) {
    const { strings, lightbox } = this.player;
    const name = strings.say(choose ? "player.picture.choose" : "player.picture.enlarge", { k: i + 1 });
    const act = () => {
      if (!choose) return lightbox.toggle(true);
      this.look(i);
      return undefined;
    };
    return h(
      "button",
      { type: "button", class: "photo", title: name, "data-picture": i, onclick: act },
      image,
      h("span", { class: "unseen" }, name),
    );
  }

  #other(probe, large) {
    const { strings, model, lightbox } = this.player;
    const { width, height } = probe.seen;
    const words = phrase(this.player, instead(model, probe));
    const image = this.#image(link(probe.seen), [width, height], strings.say("player.picture.alt_instead", { instead: words, width, height }));
    const open = strings.say("player.picture.enlarge_instead");
    return h(
      "figure",
      { class: "instead" },
      large
        ? image
        : h(
            "button",
            { type: "button", class: "photo", title: open, "data-picture": "instead", onclick: () => lightbox.toggle(true) },
            image,
            h("span", { class: "unseen" }, open),
          ),
      h("figcaption", { title: this.#kind(probe) }, this.#kind(probe)),
    );
  }

  /** What a probe is called: the other picture's file name, else what was done to this one. */
  #kind(probe) {
    return otherName(probe) || this.player.strings.say(`player.probe.kind.${probe.kind}`);
  }

  #image(src, [width, height], alt) {
    if (!src) return h("span", { class: "broken" }, this.player.strings.say("player.picture.broken"));
    // What is small is enlarged as it is, so that one sees the pixels that the model got.
    return h("img", { src, alt, width, height, class: width <= 512 ? "crisp" : null, draggable: "false" });
  }

  #about() {
    const { strings, model } = this.player;
    const { current } = this;
    put(
      this.line,
      h("b", {}, named(current.name)),
      " ",
      this.sizes(),
    );
    this.line.title = named(current.name);
    text(this.notes, current.notes.join(" "));
    this.notes.title = this.notes.textContent;
    const { probe } = this;
    this.tally.hidden = !probe;
    if (!probe) return;
    const { changed, n } = tally(probe);
    text(this.tally, strings.say("player.probe.tally", { n: changed, of: strings.num(n) }));
    this.tally.dataset.probe = String(model.probes.indexOf(probe));
  }

  /** How large the picture is that was given, and what the model saw of it, in words. */
  sizes() {
    const { strings } = this.player;
    const { saw, from, tokens } = this.current;
    const [width, height] = saw;
    const [wide, high] = from ?? saw;
    const words = { n: tokens, tokens: strings.num(tokens), width, height, wide, high };
    const fitted = wide !== width || high !== height;
    return strings.say(fitted ? "player.picture.fitted" : "player.picture.line", words);
  }

  /** As the model saw it, or as it was given: only where these differ. */
  ways(large = false) {
    if (!this.current.given) return null;
    const { strings } = this.player;
    const say = (way) => [way, strings.say(`player.picture.as.${large ? "" : "short."}${way}`)];
    return choice(strings.say("player.picture.as"), [say("seen"), say("given")], this.as, (way) => {
      this.as = way;
      this.refresh();
    }, "ways");
  }

  /** Which other picture is compared with; none. */
  probes() {
    const { model, strings, probe } = this.player;
    if (!model.probes.length) return null;
    const options = model.probes.map((p, i) => [i, this.#kind(p)]);
    return choice(
      strings.say("player.probe.choose"),
      [[null, strings.say("player.probe.none")], ...options],
      probeAt(model, probe) ? probe : null,
      (index) => {
        if (index !== null) this.at = model.probes[index].replaced;
        this.player.setProbe(index);
      },
    );
  }

  look(i) {
    this.at = i;
    this.refresh();
  }

  /** The tokens that depend on the picture, as lines of the tooltip. */
  #changes() {
    const { probe } = this;
    if (!probe) return [];
    const { strings, model } = this.player;
    const shown = (id) => plain(model.look(id));
    const found = probe.picks.flatMap((pick, i) => (pick === probe.kept[i] ? [] : [[probe.kept[i], pick]]));
    const lines = found
      .slice(0, 6)
      .map(([kept, pick]) => strings.say("player.probe.pair", { kept: shown(kept), pick: shown(pick) }));
    if (found.length > 6) lines.push(strings.say("player.probe.more", { n: found.length - 6 }));
    return lines;
  }
}
