"""How a session gets the engine, and whether it has it.

configure  adds the jar and the extension to a builder; `settings` reads what the builder has
jars       the jars in the wheel; `java` finds the Java that Spark starts with
active     refuses a session without the engine, and says why it has none
doctor     checks all of that, and says how to repair it
"""

from __future__ import annotations
