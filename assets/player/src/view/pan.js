// Zooming and dragging the tree: a factor and an offset on top of what fits.

export class Pan {
  constructor(svg, redraw) {
    this.redraw = redraw;
    this.zoom = 1;
    this.whole = false; // everything in view, however small
    this.offset = { x: 0, y: 0 };
    this.#listen(svg);
  }

  /** Another tree: back to its own place; the zoom stays. */
  rest() {
    this.offset = { x: 0, y: 0 };
  }

  by(factor) {
    this.zoom = factor ? clamp(this.zoom * factor, 0.3, 4) : 1;
    this.whole = factor === 0 && !this.whole;
    this.offset = { x: 0, y: 0 };
    this.redraw();
  }

  #listen(svg) {
    let from = null;
    svg.addEventListener("pointerdown", (e) => {
      if (e.pointerType !== "touch" && !e.target.closest(".chip")) {
        from = { x: e.clientX - this.offset.x, y: e.clientY - this.offset.y };
        svg.setPointerCapture(e.pointerId);
      }
    });
    svg.addEventListener("pointermove", (e) => {
      if (!from) return;
      this.offset = { x: e.clientX - from.x, y: e.clientY - from.y };
      this.redraw();
    });
    for (const end of ["pointerup", "pointercancel"])
      svg.addEventListener(end, () => (from = null));
    svg.addEventListener(
      "wheel",
      (e) => {
        // A plain wheel scrolls the page; with Ctrl it zooms, as maps do.
        if (!e.ctrlKey) return;
        e.preventDefault();
        this.by(e.deltaY < 0 ? 1.1 : 0.9);
      },
      { passive: false },
    );
  }
}

const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
