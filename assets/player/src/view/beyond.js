// What of the tree lies outside the stage: a fade and a count at every edge that cuts something off.
import { h, text } from "./dom.js";

const EDGES = ["top", "bottom", "left", "right"];
const BAND = 26; // px that a count takes of the stage at its top or bottom,
const SIDE = 56; // and at its sides
const LONG = { top: 76, bottom: 76, left: 32, right: 32 }; // px along the edge
const FIGURE = 14; // px under a box, for its score

/** The place along an edge of `whole` px, nearest its middle, where `long` px meet none of `taken`. */
function free(taken, whole, long) {
  for (let off = 0; off <= (whole - long) / 2; off += 4)
    for (const at of [whole / 2 + off, whole / 2 - off])
      if (taken.every(([from, to]) => to < at - long / 2 || from > at + long / 2)) return at;
  return whole / 2;
}

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
    const taken = { top: [], bottom: [], left: [], right: [] };
    const slack = 2;
    for (const [id, box] of placed.boxes) {
      if (id < 0 ? !tree.bonus?.shown : tree.nodes[id].state === "hidden") continue;
      const x = view.x + box.x * view.k;
      const y = view.y + box.y * view.k;
      const right = x + box.w * view.k;
      const low = y + box.h * view.k;
      if (right > size.width + slack) counts.right++;
      else if (x < -slack) counts.left++;
      else if (low > size.height + slack) counts.bottom++;
      else if (y < -slack) counts.top++;
      if (right > size.width - SIDE) taken.right.push([y, low + FIGURE]);
      if (x < SIDE) taken.left.push([y, low + FIGURE]);
      if (low + FIGURE > size.height - BAND) taken.bottom.push([x, right]);
      if (y < BAND) taken.top.push([x, right]);
    }
    for (const [edge, part] of this.parts) {
      part.hidden = counts[edge] === 0;
      if (part.hidden) continue;
      text(part, this.player.strings.say("player.beyond", { count: counts[edge] }));
      const whole = edge === "left" || edge === "right" ? size.height : size.width;
      part.style.setProperty("--from", `${free(taken[edge], whole, LONG[edge]) - LONG[edge] / 2}px`);
    }
  }
}
