// The grid of a wave: built once per step, then every round, the pass and the walk only set classes.
import { confidence } from "../cividis.js";
import { plain, shorten } from "../text.js";
import { before, finalToken } from "../wave.js";
import { h, pieceNodes, put } from "./dom.js";
import { GridFit, needs } from "./gridfit.js";

const MARKS = { accepted: "✓", refused: "✗", discarded: "∅" };
const LONGEST = 14; // glyphs of a token

export class Cells {
  constructor(player) {
    this.player = player;
  }

  /** Build the table of a step, everything hidden until `show`. */
  build(table, step, index, wave, tree, size) {
    Object.assign(this, { table, step, index, wave, at: null });
    const { rounds } = step.evidence;
    const star = tree.bonus?.parent ?? -1;
    this.columns = Math.max(wave.columns, step.nodes.length - 1, star + 1);
    this.fit = new GridFit(this.player, size, rounds.length, needs(step, tree, this.columns, (id) => this.#look(id)));
    const rows = rounds.map((round, k) => this.#round(round, k));
    table.style.setProperty("--tall", `${this.fit.tall}px`);
    table.style.setProperty("--font", `${this.fit.font}px`);
    table.classList.toggle("flat", this.fit.flat);
    table.style.setProperty("width", `${this.fit.width}px`);
    const cols = [this.fit.head, ...this.fit.widths].map((w) => {
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

  #slim(i) {
    return this.fit.slim(i) ? " slim" : "";
  }

  #look(id) {
    return shorten(this.player.model.look(id), LONGEST);
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
    const { model } = this.player;
    const was = state === "changed" ? before(this.step, k, i) : null;
    const final = finalToken(model, this.index, i);
    const { flat } = this.fit;
    const slim = this.fit.slim(i);
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
      flat && slim ? null : h("span", { class: "age" }, String(age)),
      flat ? null : h("span", { class: "under" }, slim ? null : this.#figures(was, p)),
      h("i", { class: "bar" }),
    );
    cell.words = this.#label(id, p, age, state, k, i, was);
    cell.setAttribute("aria-label", cell.words);
    const { fill } = confidence(p);
    cell.style.setProperty("--p", `${Math.max(4, 100 * p).toFixed(0)}%`);
    cell.style.setProperty("--fill", fill);
    return cell;
  }

  /** Below the token: what it was before, and its probability. */
  #figures(was, p) {
    return [
      was === null ? null : h("s", {}, pieceNodes(this.#look(was))),
      h("span", { class: "pn" }, this.player.strings.prob(p)),
    ];
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

  /** Where the grid is larger than its box: what this round changed, or the guess in focus, stays in view. */
  #follow(wave, focus) {
    const box = this.table.parentElement;
    const moving = wave.now.cells.findIndex(([, , , state]) => state === "changed" || state === "new");
    const now = wave.pass ? [0, 1] : [Math.max(0, moving), wave.now.cells.length];
    const [from, to] = focus ? [focus - 1, focus] : now;
    const at = this.fit.scroll(from, to, wave.shown, this.at?.x ?? 0);
    if (at.x !== this.at?.x) box.scrollLeft = at.x;
    if (at.y !== this.at?.y) box.scrollTop = at.y;
    this.at = at;
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
