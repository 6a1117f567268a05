"""What every test shares: one thread, no network, no telemetry, a browser if there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import settings

# Before torch or a tokenizer is imported: their pools read these once.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.update(
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
)

from specviz.models import registry  # noqa: E402
from specviz.models.toy import ToyModel  # noqa: E402

# A shared machine has no steady clock, so no example fails for being slow.
settings.register_profile("specviz", deadline=None, print_blob=True)
settings.load_profile("specviz")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable: CHROMIUM, or the first one on the PATH."""
    wanted = os.environ.get("CHROMIUM")
    names = [wanted] if wanted else ["chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("No Chromium found: install it or set CHROMIUM to its path.")
    return found


@pytest.fixture
def known() -> Iterator[Callable[[ToyModel], str]]:
    """Make a toy known to the registry for one test."""
    labels: list[str] = []

    def register(model: ToyModel) -> str:
        labels.append(model.label)
        entry = replace(
            registry.find("toy"),
            label=model.label,
            load=lambda device, dtype: model,
            supports=model.supports,
        )
        registry.register(entry)
        return model.label

    yield register
    for label in labels:
        registry.register(registry.find(label))  # forgets what was loaded
        registry._entries.pop(label, None)
