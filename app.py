"""Opens the page: ``python app.py``, or a Gradio Space.

``GRADIO_SERVER_NAME`` and ``GRADIO_SERVER_PORT`` say where. ``SPECVIZ_PRELOAD=<label>`` loads that
model's weights before the page opens; without it no weights are loaded until somebody presses Run.
``SPECVIZ_MAX_NEW_TOKENS`` and its like limit what a visitor may ask for (see the README).
"""

from __future__ import annotations

import os
from importlib.util import find_spec

# Gradio counts its users unless it is told not to, and reads this when it is imported.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
if os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true") and find_spec("spaces"):
    import spaces  # noqa: F401  # has to come before anything that could touch CUDA

from specviz import ui


def main() -> None:
    """Build the page and serve it until interrupted; a wrong setting ends it with a sentence."""
    label = os.environ.get("SPECVIZ_PRELOAD", "")
    try:
        if label:
            ui.preload(label)
        page, options = ui.build(), ui.launch_options()
    except ui.InputError as error:
        raise SystemExit(str(error)) from None
    page.launch(**options)


if __name__ == "__main__":
    main()
