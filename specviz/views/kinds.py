"""Charts that only some decoders' runs have, by the kind of their evidence."""

from __future__ import annotations

from specviz.views.wave import WAVE_CHARTS, has_waves
from specviz.views.window import WINDOW_CHARTS, has_windows

KINDS = {"wave": (has_waves, WAVE_CHARTS), "window": (has_windows, WINDOW_CHARTS)}
