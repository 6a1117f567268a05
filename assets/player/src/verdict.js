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
    ceiling: decoder?.ceiling ?? null,
    above: aboveCeiling(payload.summary),
  };
}

/** How the measured speed lies to the ceiling: "far" above, "near" above (as any two measurements
 * differ), or null: below, as shown with two digits. */
function aboveCeiling(summary) {
  if (summary?.above_ceiling) return "far";
  const ceiling = summary?.decoder?.ceiling;
  return ceiling && summary.speedup_decode && round(summary.speedup_decode) > round(ceiling) ? "near" : null;
}

const round = (value) => Math.round(value * 100) / 100;

/**
 * Why the speed is what it is: tau / (pass + rest), costs in plain passes, rounded to two digits so
 * that the parts add up as they are shown; `exact`: whether the quotient does too. Null where no
 * plain run was measured.
 */
export function reason(payload) {
  const { decoder, breakdown } = payload.summary ?? {};
  if (!breakdown) return null;
  const [tau, cost, pass, speed] = ["tau", "cost", "pass", "speed"].map((k) => round(breakdown[k]));
  return {
    tau,
    cost,
    pass,
    rest: Math.max(0, cost - pass),
    speed,
    exact: cost > 0 && round(tau / cost) === speed,
    faster: breakdown.speed >= 1.005,
    rows: decoder.rows_per_pass,
    free: decoder.free_rows ?? null,
  };
}
