// What a step wrote, on its way from the tree into the text. Places are read once per step; after that
// only transforms change. Nothing flies where motion is unwanted, or where one of the ends is out of view.
import { chip, h, put } from "./dom.js";

const ease = (f) => f * f * (3 - 2 * f);

export class Flight {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "flight", "aria-hidden": "true", hidden: true });
    this.key = "";
    this.birds = [];
  }

  refresh() {
    this.key = "";
  }

  resize() {
    this.key = "";
    return false;
  }

  update(scene) {
    const share = scene.tree?.flight ?? null;
    const on = share !== null && !scene.wave && !this.player.still.matches && !this.player.narrow;
    if (this.element.hidden === on) {
      this.element.hidden = !on;
      this.player.text.flow.classList.toggle("landing", on);
    }
    if (!on) {
      this.key = "";
      return;
    }
    const key = `${scene.run}|${scene.step}`;
    if (key !== this.key) this.#measure(scene);
    this.key = key;
    const f = ease(Math.min(1, share / 0.85));
    // The text shows a token when its chip arrives.
    this.player.text.flow.style.setProperty("--landed", Math.max(0, 2 * f - 1).toFixed(2));
    for (const { chip: bird, from, to } of this.birds) {
      const x = from.x + (to.x - from.x) * f;
      const y = from.y + (to.y - from.y) * f;
      bird.style.transform = `translate(${x.toFixed(1)}px,${y.toFixed(1)}px) scale(${(1 - 0.15 * f).toFixed(3)})`;
      bird.style.opacity = share > 0.85 ? ((1 - share) / 0.15).toFixed(2) : "1";
    }
  }

  /** A chip for every token that the step wrote, with the places where it was and where it goes. */
  #measure(scene) {
    const { player } = this;
    const step = player.model.decoder.steps[scene.place.step];
    player.text.follow();
    const frame = player.element.getBoundingClientRect();
    const view = player.text.box.getBoundingClientRect();
    const first = scene.tokens - step.emitted.length;
    this.birds = [];
    step.emitted.forEach((token, k) => {
      const node = step.walk[k] ?? -1;
      const start = player.tree.branches.parts.get(node)?.g.getBoundingClientRect();
      const end = player.text.spans[first + k]?.getClientRects()[0];
      if (!start || !end || end.top < view.top - 4 || end.bottom > view.bottom + 4) return;
      const made = chip(player.model, token);
      if (node < 0) made.classList.add("own");
      const at = (r) => ({ x: r.left - frame.left, y: r.top - frame.top });
      this.birds.push({ chip: made, from: at(start), to: at(end) });
    });
    put(this.element, this.birds.map((b) => b.chip));
  }
}
