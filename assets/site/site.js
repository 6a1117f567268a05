// The static site: which recorded run, step and language the address names, and the gallery.
"use strict";
(() => {
  const { presets, languages } = JSON.parse(document.getElementById("known").textContent);
  const byId = (id) => document.getElementById(id);
  const make = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const THROTTLE = 300; // browsers refuse more than some changes of the address in a while

  // What scripts beside the page hand over, by key; each is asked for once.
  const asked = new Map();
  const waiting = new Map();
  globalThis.specvizTake = async (key, packed) => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    waiting.get(key)?.(new Response(stream).json());
  };
  const fetched = (key, file) => {
    if (!asked.has(key))
      asked.set(
        key,
        new Promise((done, fail) => {
          waiting.set(key, done);
          const script = make("script", { src: file });
          script.onerror = () => {
            asked.delete(key);
            fail(new Error(`${file} is missing`));
          };
          document.head.append(script);
        }),
      );
    return asked.get(key);
  };
  const ofLanguage = (lang) => fetched(`lang ${lang}`, `lang/${lang}.js`);
  const ofTrace = (name) => fetched(`trace ${name}`, `traces/${name}.js`);

  let lang = "en";
  let words = null;
  let stage = null;
  let place = { name: "", step: null, lesson: null };
  let timer = 0;
  let turn = 0; // of what was asked for: a slower file of an earlier turn is not shown

  const say = (key, values = {}) =>
    (words.site[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  const tell = (text) => {
    byId("said").textContent = text;
    byId("said").hidden = text === "";
  };

  /** What an address asks for; anything may stand there. */
  function read() {
    const query = new URLSearchParams(location.search || location.hash.slice(1));
    const wish = query.get("lang") ?? navigator.language.slice(0, 2);
    return {
      lang: Object.hasOwn(languages, wish) ? wish : "en",
      name: query.get("trace") || null,
      step: query.get("step"),
      lesson: query.get("lesson"),
      stop: Number(query.get("stop") ?? 1),
    };
  }

  const query = ({ name, step, lesson = null }, inLang = lang) => {
    const found = new URLSearchParams();
    if (lesson) {
      found.set("lesson", lesson.lesson);
      found.set("stop", lesson.stop);
    } else {
      found.set("trace", name);
      if (step !== null) found.set("step", step);
    }
    found.set("lang", inLang);
    return `?${found}`;
  };

  const address = (at) => new URL(query(at), location.href.split(/[?#]/)[0]).href;

  /** Write the place into the address: a reload, and a copied address, lead back to it. */
  function write(how = "replaceState") {
    clearTimeout(timer);
    timer = 0;
    const next = query(place);
    if (next === location.search || next.slice(1) === location.hash.slice(1)) return;
    try {
      history[how](null, "", next);
    } catch {
      // A page that was opened from a folder may only change what stands behind the sign.
      history[how](null, "", `#${next.slice(1)}`);
    }
    turnLinks();
  }

  function turnLinks() {
    for (const link of byId("languages").children) link.href = query(place, link.dataset.lang);
  }

  function onState({ run, step }) {
    const name = run.replace(/^example-/, "");
    if (!place.name || name !== place.name) return;
    place = { ...place, step: Math.max(0, step) + 1 };
    timer ||= setTimeout(write, THROTTLE);
  }

  /** Show a run at a step (a text, counted from 1; null: an instructive one). */
  async function show(name, step, how) {
    const mine = ++turn;
    const card = words.cards.find((each) => each.name === name);
    if (card) stage.open({ title: card.title, decoder: card.decoder });
    let payload;
    try {
      payload = await ofTrace(name);
    } catch {
      if (mine !== turn) return;
      stage.open(null);
      tell(say("site.error.lost"));
      return;
    }
    if (mine !== turn) return;
    const steps = payload.events.filter((e) => e.type === "step" && (e.role ?? "decoder") === "decoder").length;
    const whole = /^\d{1,9}$/.test(step ?? "") && Number(step) >= 1;
    if (step && !whole) tell(say("site.error.step", { steps }));
    else if (whole && Number(step) > steps) tell(say("site.error.step.last", { step: Number(step), steps }));
    const at = whole ? { start_step: Math.min(Number(step), steps) - 1, instructive: false } : {};
    place = { name, step: null, lesson: null };
    stage.load({ ...payload, lang, ...at });
    place.step = Math.max(0, stage.state().step) + 1;
    write(how);
    mark();
  }

  function mark() {
    for (const card of document.querySelectorAll("#gallery .card"))
      if (card.dataset.name === place.name) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
  }

  async function begin(name, stop) {
    const mine = ++turn;
    try {
      const lesson = await fetched(`lesson ${name}.${lang}`, `lessons/${name}.${lang}.js`);
      if (mine !== turn) return;
      stage.startLesson?.(lesson, Number.isInteger(stop) && stop > 0 ? stop : 1);
    } catch {
      if (mine === turn) tell(say("site.error.lesson", { name: name.slice(0, 80) }));
    }
  }

  async function open(how) {
    const wish = read();
    const mine = ++turn;
    tell("");
    if (wish.lang !== lang || !words) await speak(wish.lang);
    if (mine !== turn) return;
    const known = wish.name === null || presets.includes(wish.name);
    if (!known) tell(say("site.error.example", { name: wish.name.slice(0, 80) }));
    await show(known && wish.name ? wish.name : presets[0], known ? wish.step : null, how);
    if (wish.lesson && turn === mine + 1) await begin(wish.lesson, wish.stop);
  }

  /** Another language: every word changes, the place does not. */
  async function speak(wanted) {
    words = await ofLanguage(wanted);
    lang = wanted;
    document.documentElement.lang = lang;
    document.title = `specviz: ${say("site.subtitle")}`;
    byId("subtitle").textContent = say("site.subtitle");
    byId("foot").textContent = say("site.foot");
    byId("home").setAttribute("aria-label", say("site.home"));
    byId("languages").setAttribute("aria-label", say("site.languages"));
    for (const link of byId("languages").children) {
      if (link.dataset.lang === lang) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    cards();
    lessons();
    stage?.setStrings(words.strings, lang);
    turnLinks();
  }

  /** A link that also works in another tab; pressed as it is, the page stays. */
  function link(attributes, act, ...children) {
    const made = make("a", attributes, ...children);
    made.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      tell("");
      act();
    });
    return made;
  }

  function cards() {
    const groups = new Map();
    for (const card of words.cards) {
      if (!groups.has(card.decoder)) groups.set(card.decoder, []);
      groups.get(card.decoder).push(card);
    }
    const made = [...groups].flatMap(([decoder, list]) => [
      make("h2", {}, words.decoders[decoder]),
      make("ul", {}, ...list.map((card) => make("li", {}, face(card)))),
    ]);
    byId("gallery").replaceChildren(...made);
    byId("gallery").setAttribute("aria-label", say("site.gallery"));
    mark();
  }

  const face = (card) =>
    link(
      { class: "card", href: query({ name: card.name, step: null }), "data-name": card.name },
      async () => {
        await show(card.name, null, "pushState");
        byId("player").scrollIntoView({ block: "start" });
      },
      make("img", { src: `pictures/${card.name}.svg`, alt: "", width: 320, height: 132, loading: "lazy" }),
      make("b", {}, card.title),
      make("span", {}, card.description),
      make("span", { class: "figures" }, card.figures),
    );

  function lessons() {
    const section = byId("lessons");
    section.hidden = words.lessons.length === 0;
    section.querySelector("h2").textContent = say("site.lessons");
    section.querySelector("ul").replaceChildren(
      ...words.lessons.map(({ name, title, about }) =>
        make(
          "li",
          {},
          link(
            { class: "card", href: `?lesson=${encodeURIComponent(name)}&stop=1&lang=${lang}` },
            () => begin(name, 1),
            make("b", {}, title),
            make("span", {}, about),
          ),
        ),
      ),
    );
  }

  async function start() {
    for (const [code, name] of Object.entries(languages))
      byId("languages").append(
        link({ lang: code, hreflang: code, "data-lang": code, href: `?lang=${code}` }, async () => {
          await speak(code);
          write();
        }, name),
      );
    await speak(read().lang);
    stage = SpecvizPlayer.mount(byId("player"), {
      strings: words.strings,
      lang,
      onState,
      onOpen: (name) => show(name, null, "replaceState"),
      onLesson: (lesson) => {
        place = { ...place, lesson };
        timer ||= setTimeout(write, THROTTLE);
      },
      linkTo: (name, step) => address({ name, step }),
      lessonLink: (lesson, stop) => address({ lesson: { lesson, stop } }),
    });
    byId("player").specviz = stage;
    await open("replaceState");
    addEventListener("popstate", () => open("replaceState"));
  }
  start();
})();
