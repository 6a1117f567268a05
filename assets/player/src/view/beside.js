// Two runs of one prompt, held at the same token: a line that says what became of it in both, and the
// other run's step beside this one's.
import { besideTime, cameTo, otherOf } from "../beside.js";
import { scene as sceneAt } from "../scene.js";
import { h, put, text } from "./dom.js";
import { sentence } from "./say.js";
import { Tree } from "./tree.js";
import { Wave } from "./wave.js";

const short = (name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

/** The other run to the painters of a step: the same player with another run in it. */
function sideOf(player) {
  const side = Object.create(player);
  const from = (name) => ({ get: () => otherOf(player.payload)[name] });
  Object.defineProperties(side, {
    payload: from("payload"),
    model: from("model"),
    beats: from("beats"),
    label: from("name"),
    scene: { value: null, writable: true },
    chosen: { value: null, writable: true },
  });
  side.draw = () => player.draw();
  side.choose = (node) => {
    side.chosen = node === side.chosen ? null : node;
    player.pause();
    player.draw();
  };
  return side;
}

export class Beside {
  constructor(player) {
    this.player = player;
    this.token = h("p", { class: "token-said" });
    this.said = h("p", { class: "quiet" });
    this.controls = h("div", { class: "beside-controls" });
    this.bar = h("section", { class: "beside-bar", hidden: true }, h("div", {}, this.token, this.said), this.controls);
    this.element = h("div", { class: "beside", hidden: true });
    this.seen = null; // the scene of this run that the other one's was made for
  }

  get other() {
    return this.player.compared ? otherOf(this.player.payload) : null;
  }

  refresh() {
    const { other, player } = this;
    this.bar.hidden = this.element.hidden = !other;
    if (!other) return;
    if (!this.side) this.#build();
    this.side.chosen = null;
    this.key = "";
    for (const view of [this.tree, this.wave]) view.refresh();
    const { strings } = player;
    text(this.said, other.said.join(" "));
    this.said.title = this.said.textContent;
    this.bar.setAttribute("aria-label", strings.say("player.beside.label"));
    const button = (key, act, sign = "", after = "") => {
      const name = strings.say(`player.beside.${key}`, { name: other.name });
      const words = sign || after ? `${sign}${short(other.name)}${after}` : name;
      return h("button", { type: "button", "data-act": key, "aria-label": name, title: name, onclick: act }, words);
    };
    const at = () => this.side.scene.place.step;
    put(
      this.controls,
      button("other_back", () => player.otherStep(at() - 1), "◂ "),
      button("other_next", () => player.otherStep(at() + 1), "", " ▸"),
      other.differs.length ? button("difference", () => player.nextDifference()) : null,
    );
  }

  #build() {
    this.side = sideOf(this.player);
    this.tree = new Tree(this.side);
    this.wave = new Wave(this.side);
    this.element.append(this.tree.element, this.wave.element);
    for (const part of [this.tree.box, this.wave.box]) this.player.sizes.observe(part);
  }

  forget() {
    this.tree?.forget();
  }

  measure() {
    if (!this.side) return false;
    const { tree, wave } = this;
    const sized = [tree, wave].map((view) => view.resize(view.box.clientWidth, view.box.clientHeight));
    return sized.some(Boolean);
  }

  /** The other run's scene beside `scene`, made once for all who ask; null where there is none. */
  at(scene) {
    const { other, player, side } = this;
    if (!other || this.seen === scene) return other && this.now;
    const t = besideTime(other, player.model.decoder, scene.place, player.held);
    if (side?.scene && side.scene.place.step !== other.beats.at(t).step) side.chosen = null;
    this.seen = scene;
    this.now = sceneAt(other.payload, t, side?.chosen ?? null);
    return this.now;
  }

  update(scene) {
    const { other } = this;
    if (!other) return;
    const now = (this.side.scene = this.at(scene));
    this.tree.update(now);
    this.wave.update(now);
    this.#words(other, scene.place);
  }

  /** What became of the token that both runs are held at. */
  #words(other, place) {
    const { player } = this;
    const shown = ["emit", "finish"].includes(place.phase) || place.step < 0;
    const i = player.heldAt;
    const key = `${i}|${shown}|${player.strings.lang}`;
    if (key === this.key) return;
    this.key = key;
    const [mine, theirs] = [cameTo(player.model, i), cameTo(other.model, i)];
    const token = player.model.tokens[i]?.id;
    const told = (came, name) => ({
      say: `player.beside.came.${came.outcome}`,
      params: { name, step: came.step + 1, source: { source: came.source } },
    });
    const { parted } = player.payload.other;
    // Behind the place where they part, a token of the same name is another word of another text.
    const differ = mine && theirs && parted !== null && i >= parted;
    const params = { n: i + 1, token: token === undefined ? "" : { token } };
    const words = !shown || !mine
      ? { key: "player.beside.deciding", params }
      : !theirs || differ
        ? { key: `player.beside.${!differ ? "ended" : i === player.payload.other.parted ? "parted" : "apart"}`, params: { ...params, name: other.name, theirs: differ ? { token: other.model.tokens[i].id } : "" } }
        : { key: "player.beside.token", params: { ...params, a: told(mine, other.mine), b: told(theirs, other.name) } };
    put(this.token, sentence({ strings: player.strings, model: this.#pieces(differ ? other : null) }, words));
    this.bar.dataset.differs = String(other.kinds.get(i) ?? (differ ? "parted" : ""));
  }

  /** Both runs name tokens alike; one of them may hold the piece that the other never met. */
  #pieces(other) {
    const { model } = this.player;
    if (!other) return model;
    return { look: (id) => (model.pieces.has(id) ? model : other.model).look(id) };
  }
}
