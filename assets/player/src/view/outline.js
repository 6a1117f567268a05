// The draft tree in words, for who hears it: nested lists, as the guesses hang. Written when the
// player has come to rest, so that neither playing nor a seek pays for it, and never read out by
// itself: the caption is.
import { plain } from "../text.js";
import { h, put } from "./dom.js";

const REST = 250;

export class Outline {
  constructor(player) {
    this.player = player;
    this.list = h("ul");
    this.element = h("div", { class: "unseen", role: "group" }, this.list);
    this.key = "";
    this.timer = 0;
  }

  refresh() {
    this.element.setAttribute("aria-label", this.player.strings.say("player.outline"));
    this.key = "";
  }

  grow() {
    this.key = "";
  }

  update(scene) {
    const { player } = this;
    const key = `${scene.run}|${scene.place.beat}|${player.version}|${player.playing}`;
    if (key === this.key) return;
    this.key = key;
    clearTimeout(this.timer);
    if (!player.playing) this.timer = setTimeout(() => this.#write(), REST);
  }

  #write() {
    if (this.player.destroyed) return;
    const { tree, wave } = this.player.scene;
    // The grid of a wave is a table already.
    put(this.list, tree && !wave ? this.#node(tree, tree.nodes[0]) : []);
  }

  /** A guess, and in a list of their own those that follow it. */
  #node(tree, node) {
    if (node.state === "hidden") return null;
    const { bonus } = tree;
    const after = tree.nodes.filter((n) => n.parent === node.id).map((n) => this.#node(tree, n));
    if (bonus?.shown && bonus.parent === node.id) after.push(h("li", {}, this.#own(bonus)));
    const shown = after.filter(Boolean);
    return h("li", {}, this.#words(node), shown.length ? h("ul", {}, shown) : null);
  }

  #own({ token }) {
    return this.player.strings.say("player.outline.own", {
      token: plain(this.player.model.look(token)),
    });
  }

  #words({ id, token, state, source, score }) {
    const { strings, model } = this.player;
    const said = [plain(model.look(token)), strings.say(`player.state.${state}`)];
    const from = `player.source.${source}`;
    if (id && strings.has(from)) said.push(strings.say(from));
    if (id && score !== null && score !== undefined)
      said.push(strings.say("player.tip_score", { score: strings.prob(score) }));
    return said.join(", ");
  }
}
