"""The engine's jar in the wheel, and the class that Spark loads from it: to start Spark by hand.

`configure` uses both. Without it, `spark.jars` and `spark.sql.extensions` take them.
"""

from __future__ import annotations

from tidemark._session.jars import EXTENSION, jar_path

__all__ = ["EXTENSION", "jar_path"]
