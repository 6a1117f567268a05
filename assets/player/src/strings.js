// The catalogue: flat keys, {name} placeholders, plural forms as key.one, key.few, …

export class Strings {
  constructor(map, lang = "en") {
    this.map = map;
    this.lang = lang;
    this.plural = new Intl.PluralRules(lang);
    this.numbers = new Map();
  }

  has(key) {
    return Object.hasOwn(this.map, key);
  }

  /** The key of the form that the count `n` needs: CLDR's category, else the one for any number. */
  keyOf(key, params) {
    if (this.has(key) || typeof params?.n !== "number") return key;
    const forms = [this.plural.select(params.n), "other", "many"];
    return forms.map((form) => `${key}.${form}`).find((form) => this.has(form)) ?? key;
  }

  template(key, params) {
    const found = this.keyOf(key, params);
    return this.has(found) ? this.map[found] : key;
  }

  /** The sentence as parts: strings, and whatever objects the placeholders were given. */
  parts(key, params = {}) {
    const out = [];
    const push = (value) => {
      if (Array.isArray(value)) value.forEach(push);
      else if (typeof value === "object" && value !== null) out.push(value);
      else if (typeof out[out.length - 1] === "string") out[out.length - 1] += String(value);
      else out.push(String(value));
    };
    for (const [i, bit] of this.template(key, params)
      .split(/\{(\w+)\}/)
      .entries()) {
      if (i % 2 === 0) push(bit);
      else push(Object.hasOwn(params, bit) ? params[bit] : `{${bit}}`);
    }
    return out.filter((p) => p !== "");
  }

  /** The sentence as one string; objects must not be among the parameters. */
  say(key, params = {}) {
    return this.parts(key, params).join("");
  }

  /** A number with `digits` decimals in the reader's language. */
  num(value, digits = 0) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    let format = this.numbers.get(digits);
    if (!format) {
      format = new Intl.NumberFormat(this.lang, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      });
      this.numbers.set(digits, format);
    }
    return format.format(value);
  }

  /** A duration: milliseconds below one second, seconds above. */
  time(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 1)
      return this.say("player.unit.ms", {
        value: this.num(seconds * 1000, seconds < 0.0095 ? 1 : 0),
      });
    return this.say("player.unit.s", { value: this.num(seconds, seconds < 100 ? 1 : 0) });
  }

  /** A number that is above zero but may be too small to show: then a bound of it. */
  above(value, digits) {
    const least = 10 ** -digits;
    return value < least / 2 ? this.say("player.below", { value: this.num(least, digits) }) : this.num(value, digits);
  }

  /** A probability: two decimals, but never "0.00" for something that is not zero. */
  prob(p) {
    if (p > 0 && p < 0.005) return "<" + this.num(0.01, 2);
    return this.num(p, 2);
  }
}
