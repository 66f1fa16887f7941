"""The version of this package, which is not the one of `tidemark`."""

__version__ = "0.1.0"
