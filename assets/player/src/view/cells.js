// The grid of a wave: built once per step, then every round, the pass and the walk only set classes.
import { confidence } from "../cividis.js";
import { columnWidths } from "../columns.js";
import { plain, shorten } from "../text.js";
import { before, finalToken } from "../wave.js";
import { h, measure, pieceNodes, put } from "./dom.js";

const MONO = 'ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const MARKS = { accepted: "✓", refused: "✗", discarded: "∅" };
const LONGEST = 14; // glyphs of a token
const GAP = 1; // px between cells
// In units of the type: the names of the rows, all rows but the rounds, a round with two lines.
const HEAD = 5.6;
const FIXED = 5.5;
const TWO_LINES = 2.06;
const SLIM = 4.6;

export class Cells {
  constructor(player) {
    this.player = player;
  }

  /** The least type. */
  get least() {
    const { projector, wide, narrow } = this.player;
    return projector ? 18 : wide ? 14 : narrow ? 13 : 12;
  }

  /** Build the table of a step, everything hidden until `show`. */
  build(table, step, index, wave, tree, size) {
    Object.assign(this, { table, step, index, wave, size, at: null });
    const { rounds } = step.evidence;
    const star = tree.bonus?.parent ?? -1;
    this.columns = Math.max(wave.columns, step.nodes.length - 1, star + 1);
    this.wants = this.#wants(tree);
    const tall = (this.tall = this.#fit(size, rounds.length));
    const rows = rounds.map((round, k) => this.#round(round, k));
    table.style.setProperty("--tall", `${tall}px`);
    table.style.setProperty("--font", `${this.font}px`);
    table.classList.toggle("flat", tall < TWO_LINES * this.font);
    const widest = this.head + this.widths.reduce((a, b) => a + b + GAP, 2 * GAP);
    table.style.setProperty("width", `${widest}px`);
    const cols = [this.head, ...this.widths].map((w) => {
      const col = h("col");
      col.style.setProperty("width", `${w}px`);
      return col;
    });
    this.rows = rows;
    this.heads = Array.from({ length: this.columns }, (_, i) =>
      h("th", { scope: "col", class: "place" }, String(i + 1)),
    );
    this.draft = this.#draft();
    this.own = this.#own(tree.bonus);
    put(
      table,
      h("colgroup", {}, cols),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, this.#say("position")), this.heads)),
      h("tbody", {}, rows.map((r) => r.row)),
      h("tfoot", {}, this.draft.row, this.own.row),
    );
    this.first = this.rows[0].cells[0];
    this.first?.setAttribute("tabindex", "0");
    this.shown = {};
  }

  #say(key, params) {
    return this.player.strings.say(`player.wave.${key}`, params);
  }

  /** Too narrow for figures beside the token. */
  #slim(i) {
    return this.widths[i] < SLIM * this.font ? " slim" : "";
  }

  #look(id) {
    return shorten(this.player.model.look(id), LONGEST);
  }

  /** What every column needs for its tokens, in units of the type. */
  #wants(tree) {
    const { rounds } = this.step.evidence;
    const type = `600 100px ${MONO}`;
    const wants = Array.from({ length: this.columns }, () => 0);
    const want = (i, id, extra) => {
      const wide = measure(plain(this.#look(id)), type) / 100 + extra;
      wants[i] = Math.max(wants[i], wide);
    };
    for (const { cells } of rounds) cells.forEach(([id], i) => want(i, id, 1.9));
    tree.nodes.slice(1).forEach((n, i) => want(i, n.token, 2));
    if (tree.bonus) want(tree.bonus.parent, tree.bonus.token, 2);
    return wants;
  }

  /** Type, widths and the height of a row: as large as all rounds and the pass leave room for. */
  #fit(size, rounds) {
    const { narrow } = this.player;
    const { least } = this;
    const across = size.width - GAP * (this.columns + 2);
    const wish = this.wants.reduce((a, b) => a + b, HEAD);
    const down = size.height / (rounds * 2.7 + FIXED);
    this.font = narrow ? least : clamp(Math.min(across / wish, down), least, 1.4 * least);
    this.head = Math.ceil(this.font * HEAD);
    this.widths = columnWidths(
      this.wants.map((w) => w * this.font),
      narrow ? 0 : across - this.head,
      narrow ? 66 : 2.6 * this.font,
      narrow ? 96 : 9.5 * this.font,
    );
    if (narrow) return 44;
    const room = size.height - FIXED * this.font - GAP * (rounds + 4);
    return Math.floor(clamp(room / rounds, 1.55 * this.font, 3.4 * this.font));
  }

  #round(round, k) {
    const cells = round.cells.map((cell, i) => this.#cell(cell, k, i));
    const { sequential } = this.wave;
    const row = h(
      "tr",
      { class: "round off" },
      h(
        "th",
        { scope: "row" },
        h("span", { class: "name" }, this.#say(sequential ? "guess" : "round", { round: k + 1 })),
        h("span", { class: "calls" }, this.#say("calls", { n: round.iterations })),
      ),
      cells,
      Array.from({ length: this.columns - cells.length }, () => h("td")),
    );
    return { row, cells };
  }

  #cell([id, p, age, state], k, i) {
    const { model, strings } = this.player;
    const was = state === "changed" ? before(this.step, k, i) : null;
    const final = finalToken(model, this.index, i);
    const cell = h(
      "td",
      {
        class: `c ${state}${this.#slim(i)}`,
        role: "gridcell",
        tabindex: "-1",
        "data-at": i,
        "data-round": k,
        "data-agrees": final === null ? null : String(final === id),
      },
      h("bdi", { class: "ct" }, pieceNodes(this.#look(id))),
      h("span", { class: "age" }, String(age)),
      h("span", { class: "under" },
        was === null ? null : h("s", {}, pieceNodes(this.#look(was))),
        h("span", { class: "pn" }, strings.prob(p)),
      ),
      h("i", { class: "bar" }),
    );
    cell.words = this.#label(id, p, age, state, k, i, was);
    cell.setAttribute("aria-label", cell.words);
    const { fill } = confidence(p);
    cell.style.setProperty("--p", `${Math.max(4, 100 * p).toFixed(0)}%`);
    cell.style.setProperty("--fill", fill);
    return cell;
  }

  #label(id, p, age, state, k, i, was) {
    const { model, strings } = this.player;
    const said = {
      round: k + 1,
      position: i + 1,
      token: plain(model.look(id)),
      p: strings.prob(p),
      n: age,
      state:
        was === null
          ? this.#say(`state.${state}`)
          : this.#say("changed_from", { was: plain(model.look(was)) }),
    };
    return this.#say("cell", said);
  }

  /** The chain that the full pass was given. */
  #draft() {
    const cells = this.step.nodes.slice(1).map((node, i) => {
      const mark = h("span", { class: "mark" });
      const look = h("bdi", { class: "ct" }, pieceNodes(this.#look(node.token)));
      return h(
        "td",
        { class: "v", role: "gridcell", tabindex: "-1", "data-at": i, "data-round": "pass" },
        h("span", { class: "vc" }, look, mark),
      );
    });
    const row = this.#foot("pass_row", this.step.evidence.depth, cells);
    return { row, cells };
  }

  /** What the model wanted where the walk ended. */
  #own(bonus) {
    const cells = [];
    if (bonus)
      for (let i = 0; i <= bonus.parent; i++)
        cells.push(
          i < bonus.parent
            ? h("td")
            : h(
                "td",
                { class: `v star${this.#slim(i)}`, role: "gridcell", tabindex: "-1", "data-at": i, "data-round": "own" },
                h(
                  "span",
                  { class: "vc bonus" },
                  h("span", { class: "mark" }, "★"),
                  h("bdi", { class: "ct" }, pieceNodes(this.#look(bonus.token))),
                ),
              ),
        );
    return { row: this.#foot("own_row", 0, cells), cells };
  }

  #foot(name, calls, cells) {
    return h(
      "tr",
      { class: name },
      h(
        "th",
        { scope: "row" },
        h("span", { class: "name" }, this.#say(name)),
        calls ? h("span", { class: "calls" }, this.#say("calls", { n: calls })) : null,
      ),
      cells,
      Array.from({ length: this.columns - cells.length }, () => h("td")),
    );
  }

  /** Bring the table to where the scene is. */
  show({ wave, tree, focus }) {
    this.rows.forEach(({ row }, k) => {
      const last = k === wave.shown - 1;
      row.classList.toggle("off", k >= wave.shown);
      row.classList.toggle("now", last && !wave.pass);
      row.style.setProperty("opacity", last && wave.fresh < 1 ? 0.2 + 0.8 * wave.fresh : "");
    });
    this.#reveal(wave.revealed);
    const states = tree.nodes.slice(1).map((n, i) => {
      const swept = wave.pass >= 1 || (i + 1) / tree.nodes.length <= wave.pass;
      return wave.pass === 0 || !swept ? "off" : n.state === "hidden" ? "drafted" : n.state;
    });
    states.forEach((state, i) => this.#state(i, state, tree.nodes[i + 1].token));
    const [star] = this.own.cells.slice(-1);
    this.own.row.classList.toggle("off", !tree.bonus?.shown);
    star?.classList.toggle("off", !tree.bonus?.shown);
    star?.setAttribute("aria-label", this.#say("own", {
      position: tree.bonus.parent + 1,
      token: plain(this.player.model.look(tree.bonus.token)),
    }));
    this.#follow(wave, focus);
    this.heads.forEach((head, i) => head.classList.toggle("at", i === focus - 1));
  }

  /** Mark the cells that hold the token which was finally written there, in words too. */
  #reveal(revealed) {
    if (this.shown.revealed === revealed) return;
    this.shown.revealed = revealed;
    this.table.classList.toggle("revealed", revealed);
    for (const cell of this.rows.flatMap((row) => row.cells))
      if (cell.getAttribute("data-agrees") === "true")
        cell.setAttribute("aria-label", revealed ? `${cell.words}, ${this.#say("agrees")}` : cell.words);
  }

  /** Where the grid is larger than its box: the round, and the guess in focus, stay in view. */
  #follow(wave, focus) {
    const box = this.table.parentElement;
    const { width, height } = this.size;
    const sum = (list) => list.reduce((a, b) => a + b + GAP, 0);
    const to = focus || (wave.pass ? 1 : wave.now.cells.length);
    const right = this.head + sum(this.widths.slice(0, to));
    const wide = this.head + sum(this.widths) > width;
    const x = wide ? Math.max(0, Math.ceil(right - width + 2.5 * this.font)) : 0;
    const rows = (wave.shown + 1) * (this.tall + GAP) + FIXED * this.font;
    const y = this.player.narrow ? 0 : Math.max(0, Math.ceil(rows - height));
    if (x !== this.at?.x) box.scrollLeft = x;
    if (y !== this.at?.y) box.scrollTop = y;
    this.at = { x, y };
  }

  #state(i, state, token) {
    if (this.shown[i] === state) return;
    this.shown[i] = state;
    const cell = this.draft.cells[i];
    const { strings, model } = this.player;
    cell.setAttribute("class", `v ${state}${this.#slim(i)}`);
    cell.firstChild.setAttribute("class", `vc ${state}`);
    put(cell.querySelector(".mark"), MARKS[state] ?? "");
    cell.setAttribute(
      "aria-label",
      this.#say("verdict", {
        position: i + 1,
        token: plain(model.look(token)),
        state: strings.say(`player.state.${state === "off" ? "drafted" : state}`),
      }),
    );
  }

  /** What a cell tells when pointed at. */
  tip(cell) {
    const { model, strings } = this.player;
    const i = +cell.getAttribute("data-at");
    const k = cell.getAttribute("data-round");
    const node = this.step.nodes[i + 1];
    if (k === "own") return [cell.getAttribute("aria-label")];
    if (k === "pass")
      return [
        cell.getAttribute("aria-label"),
        this.player.scene.wave.revealed
          ? strings.say("player.tip_target", { p: strings.prob(Math.exp(node.logp ?? 0)) })
          : null,
      ];
    const [id] = this.step.evidence.rounds[k].cells[i];
    const final = finalToken(model, this.index, i);
    return [
      plain(model.look(id)),
      cell.getAttribute("aria-label"),
      !this.player.scene.wave.revealed
        ? null
        : final === null
          ? this.#say("final_unknown")
          : final === id
            ? this.#say("final_equal")
            : this.#say("final_other", { token: plain(model.look(final)) }),
      strings.say("player.token_id", { id }),
    ];
  }

  /** Move the focus from a cell by rows and columns; returns whether it moved. */
  move(cell, [down, right]) {
    const row = cell.parentElement;
    const rows = [...this.table.querySelectorAll("tr:not(.off)")].slice(1);
    const at = [...row.children].indexOf(cell) + right;
    const next = rows[rows.indexOf(row) + down]?.children[at];
    if (!next?.hasAttribute("data-at") || next.classList.contains("off")) return false;
    cell.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus({ preventScroll: false });
    return true;
  }
}

const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
