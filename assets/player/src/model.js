// Folding a list of trace events into what the player asks about. Only ever grows.
import { isWave, spent } from "./ledger.js";
import { isSight } from "./sight.js";
import { toBytes, tokenPieces, units } from "./text.js";

const emptyRun = () => ({
  header: null,
  prefill: null,
  steps: [],
  finish: null,
  ends: [], // seconds since prefill at the end of every step
  counts: [], // tokens emitted up to and including every step, the prefill's own included
});

const NO_WORK = { tokens: 0, calls: 0, applications: 0, readouts: 0 };

export class Model {
  constructor() {
    this.size = 0;
    this.pieces = new Map();
    this.specials = new Set();
    this.decoder = emptyRun();
    this.baseline = emptyRun();
    this.check = null;
    this.probes = []; // what other pictures would have changed, in order
    this.tokens = []; // {id, source, step, node} of the decoder's answer, in order
    this.bytes = [];
    this.units = [];
    this.tallies = []; // per step: sums so far, level -> [asked, answered, right]
    this.shown = new Map();
    this.waves = false; // whether some draft settled in rounds
    this.heads = false; // whether a drafter head guessed
    this.work = []; // sums of the steps so far
  }

  /** Take over `events`; the first of them must be the one after the last taken. */
  add(events) {
    const before = this.tokens.length;
    for (const event of events) this.#one(event);
    this.size += events.length;
    if (this.tokens.length > before) this.#reunite();
    return this;
  }

  #one(event) {
    for (const [id, piece] of Object.entries(event.pieces ?? {}))
      this.pieces.set(+id, toBytes(piece));
    for (const id of event.specials ?? []) this.specials.add(id);
    const role = event.role ?? "decoder";
    if (event.type === "check") {
      this.check = event;
      return;
    }
    if (event.type === "probe") {
      this.probes.push(event);
      return;
    }
    const run = this[role];
    if (event.type === "header") {
      run.header = event;
      this.heads ||= Boolean(event.head);
    }
    else if (event.type === "prefill") {
      run.prefill = event;
      if (role === "decoder") this.#emit(event.token, "first", -1, -1);
    } else if (event.type === "finish") run.finish = event;
    else if (event.type === "step") this.#step(run, role, event);
  }

  #step(run, role, step) {
    const last = run.steps.length - 1;
    run.steps.push(step);
    run.ends.push((last < 0 ? 0 : run.ends[last]) + step.seconds.total);
    run.counts.push((last < 0 ? (run.prefill ? 1 : 0) : run.counts[last]) + step.emitted.length);
    if (role !== "decoder") return;
    const index = run.steps.length - 1;
    step.emitted.forEach((id, k) => {
      const node = step.walk[k];
      if (node !== undefined) this.#emit(id, step.nodes[node].source, index, node);
      else this.#emit(id, step.nodes.length > 1 ? "bonus" : "own", index, -1);
    });
    const sums = { ...(this.tallies[index - 1] ?? {}) };
    for (const [level, add] of Object.entries(step.evidence?.tallies ?? {}))
      sums[level] = (sums[level] ?? [0, 0, 0]).map((v, i) => v + add[i]);
    this.tallies.push(sums);
    this.waves ||= isWave(step);
    this.heads ||= isSight(step);
  }

  /** {tokens, calls, applications, readouts} of the decoder's steps up to `index`. */
  worked(index, depth) {
    const { steps } = this.decoder;
    for (let i = this.work.length; i <= index; i++) {
      const sum = { ...(this.work[i - 1] ?? NO_WORK) };
      const more = { ...spent(steps[i], depth), tokens: steps[i].emitted.length };
      for (const key of Object.keys(NO_WORK)) sum[key] += more[key];
      this.work.push(sum);
    }
    return this.work[index] ?? NO_WORK;
  }

  #emit(id, source, step, node) {
    this.tokens.push({ id, source, step, node });
    this.bytes.push(this.bytesOf(id));
  }

  /** Group the tokens anew from the last unit on, which new tokens may have completed. */
  #reunite() {
    const last = this.units.pop();
    const start = last ? last.from : 0;
    this.units.push(...units(this.bytes, (i) => this.specials.has(this.tokens[i].id), start));
  }

  bytesOf(id) {
    return this.pieces.get(id) ?? toBytes(`<${id}>`);
  }

  /** The pieces to show for a token by itself (cached). */
  look(id) {
    let found = this.shown.get(id);
    if (!found || found.bytes !== this.bytesOf(id)) {
      const bytes = this.bytesOf(id);
      found = {
        bytes: this.pieces.has(id) ? bytes : null,
        pieces: tokenPieces(bytes, this.specials.has(id)),
      };
      this.shown.set(id, found);
    }
    return found.pieces;
  }

  /** Prompt and answer as one list of token ids. */
  sequence() {
    return [...(this.decoder.header?.tokens ?? []), ...this.tokens.map((t) => t.id)];
  }
}

const models = new WeakMap();

/** The model of a payload, folded once. */
export function modelOf(payload) {
  let model = models.get(payload.events);
  if (!model) models.set(payload.events, (model = new Model()));
  if (model.size < payload.events.length) model.add(payload.events.slice(model.size));
  return model;
}

/** Whether a step ended because the model wanted something else than the guesses there. */
export function missed(step) {
  const kept = Math.min(step.walk.length, step.emitted.length);
  const end = kept > 0 ? step.walk[kept - 1] : 0;
  return step.emitted.length > step.walk.length && step.nodes.some((n) => n.parent === end);
}

/** What became of a step's guesses: none (nothing guessed), full, partial or reject. */
export function outcome(step) {
  if (step.nodes.length < 2) return "none";
  const accepted = Math.min(step.walk.length, step.emitted.length);
  const stopped = accepted > 0 ? step.walk[accepted - 1] : 0;
  const clipped = step.emitted.length <= step.walk.length;
  const refused = !clipped && step.nodes.some((n) => n.parent === stopped);
  if (accepted === 0) return clipped ? "partial" : "reject";
  return refused ? "partial" : "full";
}
