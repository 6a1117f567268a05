"""specviz shows what speculative decoding really does, token by token.

``specviz.load(path)`` reads a recorded trace; ``specviz.metrics.summary(trace)`` counts it up.
"""

from specviz.tracefile import load

__all__ = ["__version__", "load"]
__version__ = "0.1.0"
