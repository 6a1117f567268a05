// Reading the answer with the keys: inside its panel the arrows go from token to token, as they do
// in the grid of a wave and along the strip of a text; Enter shows the step that wrote the token.

/** Let the arrows walk the tokens of `view`; `lines(i)` is what the tooltip of token i says. */
export function readable(player, view, lines) {
  const { box } = view;
  const leave = (span) => {
    for (const name of ["tabindex", "role", "aria-label"]) span.removeAttribute(name);
    player.tooltip.hide(span);
  };
  const enter = (i) => {
    view.settle(); // nothing that is hidden takes the focus
    const span = view.spans[i];
    const words = lines(i);
    // Only while it is looked at: the answer itself is heard as plain text.
    span.setAttribute("tabindex", "-1");
    span.setAttribute("role", "button");
    span.setAttribute("aria-label", words.filter(Boolean).join(". "));
    span.focus({ preventScroll: true });
    span.scrollIntoView({ block: "nearest", inline: "nearest" });
    player.tooltip.show(span, words);
    span.addEventListener("blur", () => leave(span), { once: true });
  };
  const here = () => view.spans.indexOf(box.getRootNode().activeElement);
  box.addEventListener("keydown", (event) => {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const at = here();
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && view.shown) enter(at < 0 ? view.shown - 1 : clamp(at + by, view.shown - 1));
    else if (event.key === "Enter" && at >= 0) {
      player.seekStep(Math.max(0, player.model.tokens[at].step));
      // The seek closed what was said about it, and may have taken the token away.
      if (at < view.shown) enter(at);
    } else if (event.key === "Escape" && at >= 0) box.focus({ preventScroll: true });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

const clamp = (i, last) => Math.min(Math.max(i, 0), last);
