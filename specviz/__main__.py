"""``python -m specviz``."""

import sys

try:
    from specviz.cli import main
except ModuleNotFoundError as missing:
    if (missing.name or "").split(".")[0] == "specviz":
        raise  # a bug, not a missing installation
    sys.stderr.write(
        f"The package {missing.name} is missing: run make demo, "
        "then .venv/bin/python -m specviz with the same arguments.\n"
    )
    sys.exit(2)

sys.exit(main())
