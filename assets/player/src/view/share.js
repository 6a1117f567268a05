// The share menu, over the player: link, pictures, film, tables and text, all made in the browser.
// Not modal: Tab goes on, Escape closes.
import { answer, copy, factsLine, fileName, owned, save } from "../share.js";
import { MOST_STEPS, frames, gif } from "../sharegif.js";
import { toCsv, toJson } from "../sharesheet.js";
import { Stage, png } from "../sharestage.js";
import { h, put, text } from "./dom.js";

export class Share {
  constructor(player) {
    this.player = player;
    this.busy = false;
    this.said = h("p", { class: "said", role: "status" });
    this.bar = h("progress", { hidden: true });
    this.stop = h("button", { type: "button", "data-act": "cancel", hidden: true, onclick: () => (this.halted = true) });
    this.element = h("div", { class: "help share", role: "dialog", hidden: true, tabindex: "-1" });
  }

  get open() {
    return !this.element.hidden;
  }

  /** Open or close; closing stops a film that is being made. */
  toggle(open = !this.open) {
    if (open === this.open) return;
    const root = this.element.getRootNode();
    if (open) {
      this.back = root.activeElement?.dataset?.act;
      this.player.help.toggle(false);
      this.player.pause();
      this.#draw();
    } else this.halted = true;
    this.element.hidden = !open;
    if (open) this.element.focus({ preventScroll: true });
    // Its button may have been drawn anew meanwhile.
    else (this.player.element.querySelector(`[data-act="${this.back}"]`) ?? this.player.element).focus({ preventScroll: true });
  }

  refresh() {
    if (this.open) this.#draw();
  }

  /** The step that is shown may have changed. */
  update(scene) {
    if (!this.open || this.step === scene.place.step) return;
    const held = this.element.getRootNode().activeElement?.dataset?.act;
    this.#draw();
    if (held) this.element.querySelector(`[data-act="${held}"]`)?.focus();
  }

  #draw() {
    const { strings, model, scene } = this.player;
    const say = (key, params) => strings.say(`player.share.${key}`, params);
    this.step = scene.place.step;
    this.element.setAttribute("aria-label", say("title"));
    text(this.stop, say("cancel"));
    put(
      this.element,
      h("div", { class: "help-head" }, h("h3", {}, say("title")),
        h("button", { type: "button", class: "close", onclick: () => this.toggle(false) }, strings.say("player.help.close"))),
      this.#warning(say),
      h("div", { class: "share-grid" }, this.#link(say), this.#picture(say), this.#film(say), this.#tables(say), this.#text(say)),
      h("div", { class: "share-foot" }, this.said, this.bar, this.stop),
      h("p", { class: "quiet facts-line" }, factsLine(model, strings, true)),
    );
  }

  #warning(say) {
    const mine = owned(this.player);
    if (!mine) return null;
    return h("p", { class: "warning" }, say(mine.pictures ? "own_pictures" : "own", { n: mine.pictures }));
  }

  #row(title, note, ...parts) {
    return h("div", { class: "share-row" }, h("h4", {}, title), h("div", { class: "share-acts" }, parts), note ? h("p", { class: "quiet" }, note) : null);
  }

  #button(act, words, does) {
    const press = async () => {
      if (this.busy) return;
      this.busy = true;
      this.halted = false;
      text(this.said, "");
      try {
        text(this.said, (await does()) ?? "");
      } catch (error) {
        text(this.said, this.player.strings.say("player.share.failed"));
        console.error(error);
      } finally {
        this.busy = false;
        this.bar.hidden = this.stop.hidden = true;
      }
    };
    return h("button", { type: "button", "data-act": act, onclick: press }, words);
  }

  #link(say) {
    const { player, step } = this;
    const at = Math.max(0, step) + 1;
    const url = player.payload.preset ? player.linkTo?.(player.payload.preset, at) : null;
    const title = say("link");
    if (url)
      return this.#row(title, url, this.#button("link", say("link.copy", { step: at }), async () =>
        (await copy(url, this.element)) ? say("link.copied") : say("link.by_hand")));
    const note = say(player.payload.preset ? "link.none" : "link.here_only");
    if (!player.saveHtml) return this.#row(title, note);
    return this.#row(title, note, this.#button("html", say("html"), () => player.saveHtml()));
  }

  async #with(act) {
    const stage = new Stage(this.player);
    try {
      return await act(await stage.open());
    } finally {
      stage.close();
    }
  }

  #picture(say) {
    const { player } = this;
    const make = async (ending) => {
      const frame = await this.#with((stage) => stage.frame(player.t));
      const what = `step-${Math.max(0, this.step) + 1}`;
      if (ending === "svg") save(fileName(player, what, "svg"), "image/svg+xml", frame.svg);
      else save(fileName(player, what, "png"), "image/png", await png(frame));
      return say("saved");
    };
    return this.#row(say("frame"), say("frame.note"),
      this.#button("png", "PNG", () => make("png")), this.#button("svg", "SVG", () => make("svg")));
  }

  #film(say) {
    const { player } = this;
    const steps = player.model.decoder.steps.length;
    const first = Math.min(Math.max(0, this.step) + 1, Math.max(1, steps));
    const field = (act, value) =>
      h("input", { type: "number", "data-act": act, min: 1, max: steps, value: Math.min(value, steps), "aria-label": say(act) });
    const from = field("gif_from", first);
    const to = field("gif_to", first + 2);
    const make = async () => {
      const [a, b] = [Number(from.value), Number(to.value)];
      const whole = Number.isInteger(a) && Number.isInteger(b) && 1 <= a && a <= b && b <= steps;
      if (!whole) return say("gif.range", { steps });
      if (b - a >= MOST_STEPS) return say("gif.long", { most: MOST_STEPS });
      this.bar.hidden = this.stop.hidden = false;
      const tell = (done, of) => {
        this.bar.max = of;
        this.bar.value = done;
        this.bar.setAttribute("aria-label", say("gif.making", { done, of }));
        text(this.said, say("gif.making", { done, of }));
      };
      const shots = frames(player.beats, a - 1, b - 1);
      tell(0, shots.length);
      const bytes = await this.#with((stage) => gif(stage, shots, tell, () => this.halted || player.destroyed));
      if (!bytes) return say("gif.stopped");
      save(fileName(player, a === b ? `step-${a}` : `steps-${a}-${b}`, "gif"), "image/gif", bytes);
      return say("saved");
    };
    return this.#row(say("gif"), say("gif.note", { most: MOST_STEPS }),
      h("label", {}, say("gif.from"), " ", from), h("label", {}, say("gif.to"), " ", to),
      steps ? this.#button("gif", "GIF", make) : null);
  }

  #tables(say) {
    const { player } = this;
    const { rejects } = player.payload;
    if (!rejects) return this.#row(say("rejects"), say(player.payload.live ? "rejects.later" : "rejects.none"));
    const csv = () => {
      // Spreadsheets take a file without the mark for one of their own alphabet.
      save(fileName(player, "rejects", "csv"), "text/csv", `\ufeff${toCsv(rejects)}`);
      return say("saved");
    };
    const json = () => {
      save(fileName(player, "rejects", "json"), "application/json", toJson(player.model, rejects));
      return say("saved");
    };
    return this.#row(say("rejects"), say("rejects.note", { n: rejects.rows.length }),
      this.#button("csv", "CSV", csv), this.#button("json", "JSON", json));
  }

  #text(say) {
    const { player } = this;
    const { strings, model, caption } = player;
    const words = () =>
      [
        [caption.main.textContent, caption.why.textContent].filter(Boolean).join(" "),
        answer(model, player.scene.tokens),
        factsLine(model, strings, true),
      ].join("\n\n");
    return this.#row(say("text"), say("text.note"), this.#button("text", say("text.copy"), async () =>
      (await copy(words(), this.element)) ? say("text.copied") : say("failed")));
  }
}
