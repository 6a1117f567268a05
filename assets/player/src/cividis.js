// Confidence as colour: Cividis, which colour-blind readers and greyscale print keep in order
// (Nuñez, Anderton, Renslow 2018), with the ink that can be read on it.
const STOPS = [
  "00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838",
].map((code) => [0, 2, 4].map((i) => parseInt(code.slice(i, i + 2), 16)));

const linear = (v) => (v <= 10.31 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);

/** {fill, ink} of a probability. */
export function confidence(p) {
  const at = Math.min(Math.max(p, 0), 1) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(at));
  const mix = STOPS[i].map((v, k) => Math.round(v + (at - i) * (STOPS[i + 1][k] - v)));
  const light = mix.map(linear).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  // Where black and white have the same contrast, 4.6 : 1.
  return { fill: `rgb(${mix.join(" ")})`, ink: light > 0.179 ? "#000" : "#fff" };
}
