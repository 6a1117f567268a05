// What the card of a lesson says: a question before the recording answers it, then what came of it.
import { h, put } from "./dom.js";
import { sentence } from "./say.js";

export class LessonCard {
  /** `view`: where the lesson stands, and what a press of a button does. */
  constructor(view) {
    this.view = view;
    this.player = view.player;
  }

  #say(key, params) {
    return this.player.strings.say(`player.lesson.${key}`, params);
  }

  /** Title, a dot per stop, the link, the way out. */
  head(title) {
    const { course } = this.view;
    const names = ["stop_wrong", "stop_right", "stop_open"];
    const dots = course.picked.map((_, i) => {
      const right = course.right(i);
      const state = right === null ? 2 : Number(right);
      const label = this.#say(names[state], { n: i + 1 });
      const here = course.phase !== "score" && i === course.at;
      return h(
        "button",
        {
          type: "button",
          class: `dot ${["wrong", "right", "open"][state]}`,
          "aria-label": label,
          title: label,
          "aria-current": here ? "step" : null,
          onclick: () => this.view.visit(i),
        },
        ["✗", "✓", String(i + 1)][state],
      );
    });
    return h(
      "div",
      { class: "lesson-head" },
      h("b", {}, title),
      h("div", { class: "dots" }, dots),
      course.phase === "score" ? null : this.#link(),
      course.phase === "score"
        ? null
        : h(
            "button",
            { type: "button", class: "leave", onclick: () => this.view.leave() },
            this.#say("leave"),
          ),
    );
  }

  /** A link to this stop; pressed, it is copied where that is possible. */
  #link() {
    const { player } = this;
    const { lesson, stop } = this.view.place;
    const address = player.lessonLink?.(lesson, stop) ?? this.#address(lesson, stop);
    const link = h("a", { class: "link", href: address }, this.#say("link"));
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || !navigator.clipboard) return;
      event.preventDefault();
      navigator.clipboard.writeText(address).then(
        () => put(link, this.#say("copied")),
        () => window.open(address, "_blank"),
      );
    });
    return link;
  }

  /** The address of a stop where no host makes one: this page's, without what is secret in it. */
  #address(lesson, stop) {
    const url = new URL(location.href);
    // A Space signs its frame's address with parameters that begin like this.
    for (const name of [...url.searchParams.keys()])
      if (name.startsWith("__") || ["trace", "step"].includes(name)) url.searchParams.delete(name);
    const parts = { lesson, stop, lang: this.player.strings.lang };
    for (const [name, value] of Object.entries(parts)) url.searchParams.set(name, value);
    return url.href;
  }

  /** The score behind the last stop, the stop, or that its recording is not here yet. */
  body() {
    if (this.view.course.phase === "score") return this.#score();
    return this.view.ready ? this.#stop() : this.#away();
  }

  #away() {
    const known = Boolean(this.player.onOpen);
    if (!known || !this.view.refused)
      return h("p", { class: "told" }, this.#say(known ? "loading" : "locked"));
    const again = { type: "button", class: "go", onclick: () => this.view.visit() };
    return h(
      "div",
      { class: "lesson-foot" },
      h("p", { class: "told" }, this.#say("refused")),
      h("button", again, this.#say("retry")),
    );
  }

  #stop() {
    const { player } = this;
    const { course } = this.view;
    const { stop, phase, at, length } = course;
    const over = phase === "told";
    const last = at + 1 === length;
    const hint = phase === "play" ? "watch" : over ? "key_on" : "keys";
    const named = over ? (last ? "finish" : "next") : "skip";
    return [
      h(
        "div",
        { class: "lesson-body" },
        h("p", { class: "say" }, sentence(player, stop.say)),
        h(
          "div",
          { class: "asks-for" },
          h("p", { class: "question" }, sentence(player, stop.question)),
          h("div", { class: "answers" }, stop.answers.map((a, i) => this.#answer(a, i))),
        ),
      ),
      h(
        "div",
        { class: "lesson-foot" },
        over
          ? h("p", { class: "told" }, this.#verdict(), " ", sentence(player, stop.because))
          : h("p", { class: "hint" }, this.#say(hint, { of: stop.answers.length })),
        h("button", { type: "button", class: "go", onclick: () => this.view.go() }, this.#say(named)),
      ),
    ];
  }

  #verdict() {
    const right = this.view.course.right();
    const [key, mark] = right === null ? ["seen", ""] : right ? ["right", "✓ "] : ["wrong", "✗ "];
    return h("b", { class: key }, mark, this.#say(key));
  }

  #answer(answer, i) {
    const { player } = this;
    const { course } = this.view;
    const over = course.phase === "told";
    const mine = course.choice === i;
    const right = over && course.stop.right === i;
    return h(
      "button",
      {
        type: "button",
        class: `choice ${right ? "right" : over && mine ? "wrong" : ""}`,
        "aria-pressed": String(mine),
        "aria-disabled": course.phase === "ask" ? null : "true",
        onclick: () => this.view.choose(i),
      },
      h("kbd", {}, over && (right || mine) ? (right ? "✓" : "✗") : String(i + 1)),
      h("span", {}, sentence(player, answer)),
    );
  }

  #score() {
    const { lesson, score, predicted } = this.view.course;
    return h(
      "div",
      { class: "lesson-foot" },
      h(
        "p",
        { class: "told" },
        h("b", {}, this.#say("score", { right: score, of: predicted })),
        ". ",
        this.#say("score_about", lesson.drafter),
      ),
      h(
        "button",
        { type: "button", class: "again", onclick: () => this.view.start(lesson, 1) },
        this.#say("again"),
      ),
      h("button", { type: "button", class: "go", onclick: () => this.view.leave() }, this.#say("leave")),
    );
  }
}
