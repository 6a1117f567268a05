"""specviz shows what speculative decoding really does, token by token."""

__version__ = "0.1.0"
