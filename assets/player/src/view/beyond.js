// What of the tree lies outside the stage: a fade and a count at every edge that cuts something off.
import { h, text } from "./dom.js";

const EDGES = ["top", "bottom", "left", "right"];

export class Beyond {
  constructor(player) {
    this.player = player;
    this.parts = new Map(
      EDGES.map((edge) => [edge, h("span", { class: `beyond ${edge}`, hidden: true })]),
    );
  }

  get elements() {
    return [...this.parts.values()];
  }

  clear() {
    for (const part of this.parts.values()) part.hidden = true;
  }

  /** `view`: where the tree's origin is, in px, and its scale; `size`: that of the stage. */
  show(placed, view, size, tree) {
    const counts = { top: 0, bottom: 0, left: 0, right: 0 };
    const slack = 2;
    for (const [id, box] of placed.boxes) {
      if (id < 0 ? !tree.bonus?.shown : tree.nodes[id].state === "hidden") continue;
      const x = view.x + box.x * view.k;
      const y = view.y + box.y * view.k;
      if (x + box.w * view.k > size.width + slack) counts.right++;
      else if (x < -slack) counts.left++;
      else if (y + box.h * view.k > size.height + slack) counts.bottom++;
      else if (y < -slack) counts.top++;
    }
    for (const [edge, part] of this.parts) {
      part.hidden = counts[edge] === 0;
      if (counts[edge])
        text(part, this.player.strings.say("player.beyond", { count: counts[edge] }));
    }
  }
}
