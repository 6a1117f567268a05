"""Opens the page: ``python app.py``, or a Gradio Space.

``GRADIO_SERVER_NAME`` and ``GRADIO_SERVER_PORT`` say where. ``SPECVIZ_PRELOAD=<label>`` loads that
model's weights before the page opens; without it no weights are loaded until somebody presses Run.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

# Gradio counts its users unless it is told not to, and reads this when it is imported.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
if os.environ.get("SPACES_ZERO_GPU") and find_spec("spaces"):
    import spaces  # noqa: F401  # has to come before anything that could touch CUDA

from specviz import ui


def main() -> None:
    """Build the page and serve it until interrupted."""
    label = os.environ.get("SPECVIZ_PRELOAD", "")
    if label:
        ui.preload(label)
    ui.build().launch(**ui.launch_options())


if __name__ == "__main__":
    main()
