// An animated GIF of some steps, made frame by frame, so that the page stays usable meanwhile.
import { GIFEncoder, applyPalette, quantize } from "gifenc";
import { pixels } from "./sharestage.js";

export const MOST_STEPS = 10;
const MOST_GROWTH = 8; // frames in which the tree of a step grows
const SCALE = 0.75; // 960 pixels wide
const HOLD = 1500; // milliseconds that the end of a step stays
const SHORTEST = 140;
const COLOURS = 255; // one more stands for "as before"

/** The times of the frames of steps `from`..`to` (0 is the first) and how long each is shown, in ms. */
export function frames(beats, from, to) {
  const shots = [{ t: beats.starts[from] - 1, ms: 700 }];
  for (let step = from; step <= to; step++) {
    const end = beats.endOf(step);
    const times = Array.from({ length: end - beats.starts[step] + 1 }, (_, i) => beats.starts[step] + i);
    const growth = times.filter((t) => beats.at(t).phase === "draft");
    // Painting is what a film costs; of many guesses some frames are enough to see the tree grow.
    const stride = Math.ceil(growth.length / MOST_GROWTH);
    for (const t of times) {
      const k = growth.indexOf(t);
      if (k >= 0 && k % stride && k < growth.length - 1) continue;
      shots.push({ t, ms: t === end ? HOLD : Math.max(SHORTEST, beats.milliseconds(beats.at(t))) });
    }
  }
  return shots;
}

/** What of `next` differs from `before`; everything else is the index `same`. */
function changed(next, before, same) {
  if (!before) return next;
  const out = next.slice();
  for (let i = 0; i < out.length; i++) if (out[i] === before[i]) out[i] = same;
  return out;
}

/**
 * The bytes of a GIF of `stage` (opened) over `shots`; `tell(done, of)` after every frame, and null
 * as soon as `halted()` says so. One palette, taken from the fullest frame, keeps colours steady.
 */
export async function gif(stage, shots, tell, halted) {
  const fullest = await stage.frame(shots.at(-1).t);
  const first = await stage.frame(shots[0].t);
  const painted = new Map([[shots[0].t, first], [shots.at(-1).t, fullest]]);
  // The caption of another frame may need one line more or less.
  const tall = Math.max(fullest.height, first.height);
  const last = await pixels(fullest, SCALE, tall);
  const { width, height } = last.canvas;
  const sample = last.context.getImageData(0, 0, width, height).data;
  const palette = quantize(sample, COLOURS);
  const same = palette.length;
  const colours = palette.slice();
  palette.push([0, 0, 0]);
  const encoder = GIFEncoder();
  let before = null;
  for (const [i, { t, ms }] of shots.entries()) {
    if (halted()) return null;
    const { context } = await pixels(painted.get(t) ?? (await stage.frame(t)), SCALE, tall);
    const { data } = context.getImageData(0, 0, width, height);
    const indexed = applyPalette(data, colours);
    encoder.writeFrame(changed(indexed, before, same), width, height, {
      ...(i === 0 ? { palette, repeat: 0 } : {}),
      transparent: i > 0,
      transparentIndex: same,
      delay: ms,
      dispose: 1,
    });
    before = indexed;
    tell(i + 1, shots.length);
    await new Promise((done) => setTimeout(done));
  }
  encoder.finish();
  return encoder.bytes();
}
