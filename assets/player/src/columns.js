// How wide the columns of a wave are: as their tokens need, cut where all of them do not fit.

/**
 * Widths in px for columns that want `wants` px in a room of `room` px: none below its own of
 * `leasts`; where they do not fit the widest are cut to one common width, where room is left all grow
 * alike, to at most `most` px. Wider than the room in all only where even `leasts` are.
 */
export function columnWidths(wants, room, leasts, most) {
  const sum = (cap) => wants.reduce((all, w, i) => all + Math.max(leasts[i], Math.min(w, cap)), 0);
  let cap = most;
  if (sum(most) > room) {
    let low = 0;
    let high = most;
    for (let k = 0; k < 24; k++) {
      cap = (low + high) / 2;
      if (sum(cap) > room) high = cap;
      else low = cap;
    }
    cap = low;
  }
  const widths = wants.map((w, i) => Math.max(leasts[i], Math.min(w, cap)));
  const left = room - widths.reduce((a, b) => a + b, 0);
  const more = Math.max(0, left / widths.length);
  return widths.map((w) => Math.floor(Math.max(w, Math.min(most, w + more))));
}
