// The head of the page: was the text the same, and what did it cost.

/** {badge, mark, params, tone} of the equality with plain decoding. */
export function equality(model, payload) {
  const check = model.check;
  const finish = model.decoder.finish;
  const key = (name, mark, tone, params = {}) => ({
    key: `player.verdict.${name}`,
    mark,
    tone,
    params,
  });
  if (finish?.reason === "error") return key("error", "✗", "bad");
  // A file that contradicts itself proves nothing about its texts.
  if (payload.audited === false) return key("unverified", "○", "warn");
  if (check) {
    if (check.equal === true)
      return key(check.complete === false ? "equal_so_far" : "equal", "✓", "good");
    const params = {
      n: (check.first_difference ?? 0) + 1,
      margin: { number: check.margin ?? 0, digits: 4 },
      ties: check.ties ?? 0,
    };
    if (check.equal === "tie") return key("tie", "≈", "warn", params);
    return key("differs", "✗", "bad", params);
  }
  if (payload.live) return key("running", "●", "live");
  if (finish?.reason === "stopped") return key("stopped", "■", "warn");
  if (!finish) return key("cut", "■", "warn");
  return key("unchecked", "○", "quiet");
}

/** The figures beside it, from the summary that came with the events. */
export function figures(payload) {
  const { decoder, baseline, speedup_decode: speed, speedup_total: total } = payload.summary ?? {};
  const { total: all, decode } = decoder?.seconds ?? {};
  return {
    speed: speed ?? null,
    total: total ?? null,
    reading: all > 0 ? (all - decode) / all : null, // share of the run's seconds
    passes: decoder?.target_passes ?? null,
    plainPasses: baseline?.finish ? baseline.target_passes : null,
    tokens: decoder?.tokens ?? null,
    tau: decoder?.tau ?? null,
    acceptance: decoder?.acceptance ?? null,
  };
}

/**
 * Why the speed is what it is: tau / (pass cost + draft cost), in units of one plain pass.
 * Measured sums only; null where one of them is missing.
 */
export function reason(payload) {
  const { decoder, baseline, speedup_decode: speed } = payload.summary ?? {};
  if (!speed || !decoder?.target_passes || !baseline?.target_passes || !decoder.tau) return null;
  const plain = baseline.seconds.decode / baseline.target_passes;
  if (!(plain > 0)) return null;
  const pass = decoder.seconds.verify / decoder.target_passes / plain;
  const rest = (decoder.seconds.decode - decoder.seconds.verify) / decoder.target_passes / plain;
  return { tau: decoder.tau, pass, rest, speed };
}
