"""Draw the pictures of the gallery: ``python examples/draw.py``.

They are held out: the embedded model was never trained on pictures with these combinations. The
last column is the question that the page suggests.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from specviz.training.vlm_draw import draw_plain, save
from specviz.training.vlm_scenes import scene

IMAGES = Path(__file__).parent / "images"
INDEX = IMAGES / "index.json"
SCALE = 3  # pixels of the file for each pixel that the model sees

GALLERY = (
    ("departure-board", "departures", 2, "Read the departure board."),
    ("train-board", "departures", 1, "Which departures are on the board?"),
    ("score-board", "scores", 5, "Who is winning?"),
    ("letter-sign", "letters", 4, "Read the text line by line."),
    ("number-chart", "chart", 3, "Describe the chart."),
    ("month-chart", "chart", 7, "Which bar is the tallest?"),
    ("coloured-shapes", "shapes", 4, "What is in the picture?"),
    ("rings-and-crosses", "shapes", 2, "Which shapes are there, row by row?"),
)


def main() -> None:
    """Write every picture and the index with its question."""
    IMAGES.mkdir(exist_ok=True)
    entries = []
    for name, kind, number, question in GALLERY:
        rng = random.Random(f"example {kind} {number}")
        picture = draw_plain(scene(rng, "held-out", kind), rng, SCALE)
        save(picture.quantize(255) if kind != "shapes" else picture, IMAGES / f"{name}.png")
        entries.append({"file": f"{name}.png", "kind": kind, "question": question})
    INDEX.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
