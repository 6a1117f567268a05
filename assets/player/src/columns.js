// How wide the columns of a wave are: as their tokens need, cut where all of them do not fit.

/**
 * Widths in px for columns that want `wants` px in a room of `room` px: none below `least`; where
 * they do not fit the widest are cut to one common width, where room is left all grow alike, to at
 * most `most` px. Wider than the room in all only where even `least` is.
 */
export function columnWidths(wants, room, least, most) {
  const sum = (cap) => wants.reduce((all, w) => all + Math.max(least, Math.min(w, cap)), 0);
  let cap = most;
  if (sum(most) > room) {
    let low = least;
    let high = most;
    for (let k = 0; k < 24; k++) {
      cap = (low + high) / 2;
      if (sum(cap) > room) high = cap;
      else low = cap;
    }
    cap = low;
  }
  const widths = wants.map((w) => Math.max(least, Math.min(w, cap)));
  const left = room - widths.reduce((a, b) => a + b, 0);
  const more = Math.max(0, left / widths.length);
  return widths.map((w) => Math.floor(Math.max(w, Math.min(most, w + more))));
}
