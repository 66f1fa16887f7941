"""What people have reported of event time, each as a small query of its own."""

from corpus.reports import (  # noqa: F401 - each adds its cases
    first,
    functions,
    joins,
    restarts,
    several,
    splits,
    times,
    windows,
)
