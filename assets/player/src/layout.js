// Where the nodes of a step's tree go. d3-hierarchy gives every leaf a row of its own, so that
// nothing a row holds can overlap what another row holds; columns follow from the labels' widths.
import { cluster, hierarchy } from "d3-hierarchy";

/** Children of every item, the bonus token (id -1) after the guesses of its parent. */
function childLists(items) {
  const children = new Map(items.map((i) => [i.id, []]));
  for (const item of items) if (item.parent !== null) children.get(item.parent).push(item.id);
  return children;
}

/** The tree with sibling leaves that are not on the walk bundled into rows of up to `per`. */
function bundled(id, children, onWalk, per) {
  const kids = children.get(id);
  const rows = [];
  let bundle = null;
  for (const kid of kids) {
    const leaf = children.get(kid).length === 0 && !onWalk.has(kid);
    if (per > 1 && leaf) {
      if (bundle && bundle.ids.length < per) {
        bundle.ids.push(kid);
        continue;
      }
      bundle = { ids: [kid], kids: [] };
      rows.push(bundle);
    } else rows.push({ ids: [kid], kids: bundled(kid, children, onWalk, per) });
  }
  return rows;
}

/** Rows downwards, depth to the right. `straight`: the walk keeps to one row, so that all of it
 * can be seen however high the tree is; every subtree has its rows for itself, so nothing meets. */
function across(root, size, onWalk, straight) {
  const top = hierarchy(root, (d) => d.kids);
  cluster()
    .nodeSize([size.row, 1])
    .separation((a, b) => (a.parent === b.parent ? 1 : 1.16))(top);
  if (straight)
    top.eachAfter((d) => {
      const next = d.children?.find((kid) => onWalk.has(kid.data.ids[0]));
      if (next) d.x = next.x;
    });
  const boxes = new Map();
  const groups = [];
  let low = Infinity;
  top.each((d) => (low = Math.min(low, d.x)));
  top.each((d) => {
    const y = d.x - low;
    const alone = d.parent && d.parent.children.length === 1 && d.data.ids.length === 1;
    let x = d.parent ? d.parent.right + (alone ? size.gap * 0.42 : size.gap) : 0;
    const from = x;
    for (const id of d.data.ids) {
      boxes.set(id, { x, y, w: size.width(id), h: size.chip });
      x += size.width(id) + size.or;
    }
    d.right = x - size.or;
    if (d.data.ids.length > 1)
      groups.push({ x: from, y, w: d.right - from, h: size.chip, ids: d.data.ids });
  });
  return { boxes, groups };
}

/** Rows downwards, one indent per branching; only children go on in the row while it has room. */
function down(root, size) {
  const boxes = new Map();
  const groups = [];
  let y = 0;
  const place = (d, x, indent) => {
    const from = x;
    for (const id of d.ids) {
      if (x > from && x + size.width(id) > size.room) {
        x = from;
        y += size.row;
      }
      boxes.set(id, { x, y, w: size.width(id), h: size.chip });
      x += size.width(id) + size.or;
    }
    if (d.ids.length > 1) groups.push({ ids: d.ids });
    const only = d.kids.length === 1 && d.kids[0].ids.length === 1 ? d.kids[0] : null;
    if (only && x + size.gap * 0.5 + size.width(only.ids[0]) <= size.room) {
      place(only, x + size.gap * 0.3, indent);
      return;
    }
    const next = Math.min(indent + size.indent, size.room * 0.4);
    for (const kid of d.kids) {
      y += size.row;
      place(kid, next, next);
    }
  };
  place(root, 0, 0);
  return { boxes, groups };
}

function bounds(boxes) {
  let w = 0;
  let low = Infinity;
  let high = -Infinity;
  for (const b of boxes.values()) {
    w = Math.max(w, b.x + b.w);
    low = Math.min(low, b.y);
    high = Math.max(high, b.y + b.h);
  }
  return { w, h: high - low };
}

/**
 * Boxes for `items` ({id, parent, width}; parents first, the root first) in a stage of
 * `stage.width` x `stage.height` px, type of `stage.font` px that must not fall below `stage.least`
 * when scaled. Returns {boxes: id -> {x, y, w, h}, groups, w, h, scale}.
 */
export function layout(items, onWalk, stage) {
  const { font } = stage;
  const widths = new Map(items.map((i) => [i.id, i.width]));
  const size = {
    width: (id) => widths.get(id),
    chip: font * 1.9,
    row: font * stage.rowRatio,
    gap: font * (stage.gap ?? 2.2),
    or: font * 0.75, // between siblings in one row, where a stroke says that they are choices
    indent: font * 1.6,
    room: stage.width,
  };
  const children = childLists(items);
  const least = stage.least / font;
  let best = null;
  for (const per of stage.down ? [12] : [1, 3, 5, 8]) {
    const rows = bundled(items[0].id, children, onWalk, per);
    const root = { ids: [items[0].id], kids: rows };
    const found = stage.down ? down(root, size) : across(root, size, onWalk, stage.straight);
    const { w, h } = bounds(found.boxes);
    const fit = Math.min(stage.most ?? 1.25, stage.width / w, stage.height / h);
    const scale = stage.down ? Math.min(1, stage.width / w) : Math.max(least, fit);
    // Wider rows must pay: a bundle that only trades height for width is not taken.
    if (!best || fit > best.fit * 1.02) best = { ...found, w, h, fit, scale };
    if (stage.down || fit >= stage.good / font) break;
  }
  return best;
}
