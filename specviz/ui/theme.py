"""The look of the page around the player: Gradio's theme, and where its style sheet lies."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

CSS_FILE = Path(__file__).parents[2] / "assets" / "page.css"

# System fonts: the page asks nobody else for anything.
SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")
BLUE = gr.themes.Color(
    name="specviz",
    c50="#eef6fb", c100="#d8eaf6", c200="#b1d5ed", c300="#7fbbe0", c400="#409fd0", c500="#0f82c0",
    c600="#0072b2", c700="#005f95", c800="#004d79", c900="#003a5c", c950="#002840",
)  # fmt: skip


def theme() -> gr.themes.Base:
    """Quiet greys, one blue, small gaps: the player is the picture, all else its frame."""
    return gr.themes.Base(
        primary_hue=BLUE,
        neutral_hue=gr.themes.colors.zinc,
        font=list(SANS),
        font_mono=list(MONO),
        spacing_size=gr.themes.sizes.spacing_sm,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
    ).set(
        body_background_fill="#ffffff",
        body_background_fill_dark="#111317",
        # Gradio's own greys for secondary text are too light to read on a projector.
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        block_border_width="1px",
        block_shadow="none",
        block_shadow_dark="none",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
    )
