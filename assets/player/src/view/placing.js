// Which layout a step's tree gets: as large as the stage allows, the walk always in view; cached.
import { layout } from "../layout.js";

export const PAD = 12;

/** How many px at the right edge fade where the tree goes on behind it; see `.beyond.right`. */
export const faded = (player) => (player.projector ? 72 : 56);
const LOW = 240; // px
const MANY = 30; // guesses that no stage shows whole
const MOST = 400; // layouts kept: they are small, but a run may have thousands of steps

export class Placing {
  constructor(player, chips) {
    this.player = player;
    this.chips = chips;
    this.layouts = new Map();
  }

  /** Another trace, size or type. */
  forget() {
    this.layouts.clear();
  }

  /** The layout of `tree` in a stage of `size` px, with what of it must be seen (`story`). */
  of(tree, size) {
    const key = `${tree.key}|${this.player.model.units.length && tree.key === "prefill" ? "p" : ""}`;
    let found = this.layouts.get(key);
    if (!found) {
      const phone = this.player.narrow;
      const font = this.chips.font;
      // Many rows stand closer, and so do all on a low stage: a tree seen whole tells more.
      const dense = tree.nodes.length > MANY || (tree.nodes.length > 8 && size.height < LOW);
      const stage = {
        straight: tree.nodes.length > MANY,
        width: size.width - 2 * PAD,
        height: size.height - 2 * PAD,
        font,
        least: this.player.projector ? 18 : size.height < LOW ? 9 : 11,
        good: this.player.projector ? 22 : 12.5,
        rowRatio: phone ? 2.75 : dense ? 2.15 : 2.75,
        down: phone,
        most: tree.nodes.length < 4 ? 1.5 : 1.3,
      };
      const place = (k, tight = false, lines = phone) => {
        const items = this.chips.items(tree, k, tight ? 8 : null);
        const room = { ...stage, gap: tight ? 1.2 : 2.2, down: lines };
        const made = { ...layout(items, new Set([...tree.walk, -1]), room), items, lines, dense };
        made.story = story(tree, made.boxes);
        // However large the tree: where it came from and where it went are seen at once.
        if (!phone) {
          // What is cut off fades out at the edge, and the story must not.
          const cut = made.w * made.scale > stage.width ? faded(this.player) - PAD : 0;
          made.scale = Math.min(
            made.scale,
            (stage.width - cut) / made.story.w,
            stage.height / made.story.h,
          );
        }
        return made;
      };
      found = place(1);
      // A long accepted path gets short labels before it gets small type.
      const tight = !phone && found.scale < (0.99 * stage.least) / font;
      let lines = phone;
      if (tight) {
        found = place(1, tight);
        // A chain longer than the stage is wide reads better in lines, as a text does.
        const chain = tree.nodes.every((n) => n.parent === n.id - 1);
        const wrapped = chain ? place(1, false, true) : found;
        lines = chain && wrapped.scale > 1.2 * found.scale;
        if (lines) found = wrapped;
      }
      // Small type needs wider badges, which the boxes then have to hold.
      if (this.chips.small(found.scale) > this.chips.small(1)) found = place(found.scale, tight && !lines, lines);
      if (this.layouts.size > MOST) this.layouts.delete(this.layouts.keys().next().value);
      this.layouts.set(key, found);
    }
    return found;
  }
}

/** The box around the root, the accepted path and the model's own token. */
function story(tree, boxes) {
  const own = [0, ...tree.walk, -1].map((id) => boxes.get(id)).filter(Boolean);
  const x = Math.min(...own.map((b) => b.x));
  const y = Math.min(...own.map((b) => b.y));
  const w = Math.max(...own.map((b) => b.x + b.w)) - x;
  const tall = Math.max(...own.map((b) => b.y + b.h)) - y;
  return { x, y, w, h: tall };
}
