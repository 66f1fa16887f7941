"""The one place where the Python side keeps its version; the jar's file name bears the same."""

__version__ = "0.1.0"
