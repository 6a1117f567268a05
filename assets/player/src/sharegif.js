// An animated GIF of some steps, made frame by frame, so that the page stays usable meanwhile.
import { GIFEncoder, applyPalette, quantize } from "gifenc";
import { pixels } from "./sharestage.js";

export const MOST_STEPS = 10;
const MOST_FRAMES = 90;
const SCALE = 0.75; // 960 pixels wide
const HOLD = 1500; // milliseconds that the end of a step stays
const SHORTEST = 140;
const COLOURS = 255; // one more stands for "as before"

/** The times of the frames of steps `from`..`to` (0 is the first) and how long each is shown, in ms. */
export function frames(beats, from, to) {
  const all = [];
  for (let step = from; step <= to; step++)
    for (let t = beats.starts[step]; t <= beats.endOf(step); t++) all.push(t);
  const ends = new Set();
  for (let step = from; step <= to; step++) ends.add(beats.endOf(step));
  // Of many guesses every second or third is enough to see the tree grow.
  const stride = Math.ceil(all.length / MOST_FRAMES);
  const kept = all.filter((t, i) => ends.has(t) || beats.at(t).phase !== "draft" || i % stride === 0);
  return [
    { t: beats.starts[from] - 1, ms: 700 },
    ...kept.map((t) => ({
      t,
      ms: ends.has(t) ? HOLD : Math.max(SHORTEST, beats.milliseconds(beats.at(t))),
    })),
  ];
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
  const fullest = await stage.frame(shots[shots.length - 1].t);
  // The caption of another frame may need one line more or less.
  const tall = Math.max(fullest.height, (await stage.frame(shots[0].t)).height);
  const last = await pixels(fullest, SCALE, tall);
  const { width, height } = last.canvas;
  const sample = last.context.getImageData(0, 0, width, height).data;
  const palette = quantize(sample, COLOURS);
  const same = palette.length;
  palette.push([0, 0, 0]);
  const encoder = GIFEncoder();
  let before = null;
  for (const [i, { t, ms }] of shots.entries()) {
    if (halted()) return null;
    const { context } = await pixels(await stage.frame(t), SCALE, tall);
    const { data } = context.getImageData(0, 0, width, height);
    const indexed = applyPalette(data, palette.slice(0, same));
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
