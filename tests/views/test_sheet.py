"""CSV: nothing that a spreadsheet would run, nothing invented where nothing applies."""

from __future__ import annotations

from specviz.views.sheet import sheet


def test_cells_are_literal_and_numbers_have_a_dot() -> None:
    rows = [("=1+1", -1.5, None, True), ("-x", 2, "a,b", False), ("@y", 0.25, '"', ""), ["+z"]]
    assert sheet(("a", "b", "c", "d"), rows) == (
        'a,b,c,d\n\'=1+1,-1.5,,True\n\'-x,2,"a,b",False\n\'@y,0.25,"""",\n\'+z\n'
    )
