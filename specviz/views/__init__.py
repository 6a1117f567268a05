"""Traces as still pictures and tables. Views read recorded facts and know no model."""
