"""How a writer adds marks to a log.

writer     notes times; `automatic` notes the clock of `stamps`, `repeating` in a thread
life       one life of a writer in a folder; `past` are the lives before it
rising     neither times nor positions go back; `errors` checks what a writer is given
neighbors  the other writers of the log; `owner` the process that a writer belongs to
"""

from __future__ import annotations
