"""Tests in a browser."""

import pytest

# Their assertions tell what was found; pytest does that by itself for test files alone.
pytest.register_assert_rewrite(f"{__name__}.patience", f"{__name__}.visitor", f"{__name__}.exported")
