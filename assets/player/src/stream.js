// The run that a decoder is sending: its updates are merged, and what got lost is asked for.

export class Stream {
  /** `fetchEvents(run, from)`: a promise of the events from there on, or of an update. */
  constructor(player, fetchEvents) {
    this.player = player;
    this.fetchEvents = fetchEvents;
    this.asking = null;
  }

  push(update) {
    const { player } = this;
    const { status } = player.feed.apply(update);
    if (status === "other") {
      const late = (update.first ?? 0) > 0;
      player.load({ ...update, events: late ? [] : update.events, total: 0 });
      if (late) {
        player.feed.waiting.push(update);
        this.#fill();
      }
      return;
    }
    if (status === "gap") this.#fill();
    else if (status === "grown") player.grown();
  }

  /** Ask for the events that are missing, once at a time. */
  async #fill() {
    const { player } = this;
    const { run_id: run } = player.payload;
    if (!this.fetchEvents || this.asking === run) return;
    this.asking = run;
    const from = player.payload.events.length;
    try {
      const answer = await this.fetchEvents(run, from);
      if (player.payload.run_id !== run || player.destroyed) return;
      this.asking = null;
      if (!answer) return;
      this.push(
        Array.isArray(answer)
          ? { run_id: run, first: from, events: answer }
          : { first: from, run_id: run, ...answer },
      );
    } catch (error) {
      // The next update finds the gap again and asks again; say what happened for who looks.
      console.warn("specviz: missing events could not be fetched", error);
    } finally {
      if (this.asking === run) this.asking = null;
    }
  }
}
