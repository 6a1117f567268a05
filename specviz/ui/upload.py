"""Files that are too large to be sent: refused before they travel, in words that stay."""

from __future__ import annotations

import json

from specviz.catalog import text

# Gradio says so as well, but for a moment, in English, and not what to do about it. Pictures are
# caught beside their tray, which names the others that came with them.
_SCRIPT = """() => {
  const large = (files) => [...(files ?? [])].find((file) => file.size > LARGEST);
  const refuse = (event, file) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    const status = [...document.querySelectorAll('#status *')].find((e) => e.specvizSay);
    status?.specvizSay(WORDS.replace('{name}', () => file.name));
  };
  document.addEventListener('change', (event) => {
    const input = event.target;
    if (input.type !== 'file' || input.closest('#pictures-add-row')) return;
    const file = large(input.files);
    if (!file) return;
    refuse(event, file);
    input.value = '';
  }, true);
  document.addEventListener('drop', (event) => {
    const file = large(event.dataTransfer?.files);
    const zone = event.target.closest?.('[role=tabpanel]') ?? event.target.closest?.('.block');
    if (!file || !zone?.querySelector('input[type=file]')) return;
    if (!zone.querySelector('#pictures-add-row')) refuse(event, file);
  }, true);
}"""


def refuse_large(lang: str, most: int) -> str:
    """A script for the whole page; ``most``: MB of a file."""
    words = text("ui.upload.large", lang, name="{name}", most=most)
    return _SCRIPT.replace("LARGEST", str(most << 20)).replace("WORDS", json.dumps(words))
