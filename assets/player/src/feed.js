// Updates of a run that is going on: numbered events, which may overlap, come late, or leave a gap.

/**
 * Merges updates into one payload. `apply(update)` returns {status, payload}: "same" (nothing
 * new), "grown", "gap" (events are missing; `payload.events.length` is the first), or "other"
 * (another run).
 */
export class Feed {
  constructor(payload) {
    this.payload = payload;
    this.waiting = [];
  }

  apply(update) {
    if (update.run_id !== this.payload.run_id) return { status: "other", payload: this.payload };
    const have = this.payload.events.length;
    const first = update.first ?? 0;
    if (first > have) {
      this.waiting.push(update);
      return { status: "gap", payload: this.payload };
    }
    const fresh = update.events.slice(have - first);
    // The list is kept and grows: what was folded from it stays folded.
    this.payload.events.push(...fresh);
    this.#state(update);
    const more = this.#waiting();
    return {
      status: fresh.length || more || update.total !== undefined ? "grown" : "same",
      payload: this.payload,
    };
  }

  /** The newest word on how the run stands wins, whatever order updates come in. */
  #state(update) {
    const total = update.total ?? this.payload.events.length;
    if (total < (this.payload.total ?? 0)) return;
    this.payload.total = total;
    for (const key of ["live", "stage", "summary", "map", "rejects"])
      if (key in update) this.payload[key] = update[key];
  }

  #waiting() {
    let used = false;
    this.waiting.sort((a, b) => a.first - b.first);
    while (this.waiting.length && this.waiting[0].first <= this.payload.events.length) {
      const update = this.waiting.shift();
      const fresh = update.events.slice(this.payload.events.length - update.first);
      this.payload.events.push(...fresh);
      this.#state(update);
      used ||= fresh.length > 0;
    }
    return used;
  }
}
