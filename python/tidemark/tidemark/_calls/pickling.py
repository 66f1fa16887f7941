"""Pickles what a call needs, for workers that may have no Tidemark."""

from __future__ import annotations

import threading
from typing import Any

_pickling = threading.Lock()


def pickled(what: object, *, by_value: bool = False) -> bytes:
    """Pickles as Spark does for its workers; by value, what is Tidemark's own is in it."""
    from pyspark import cloudpickle

    import tidemark
    import tidemark_marks

    if not by_value:
        return _pickled_by_user(what)
    own = (tidemark, tidemark_marks)
    # The registry is one for all threads. What others pickle meanwhile is larger, but works.
    with _pickling:
        for package in own:
            cloudpickle.register_pickle_by_value(package)  # type: ignore[no-untyped-call]
        try:
            return bytes(cloudpickle.dumps(what))  # type: ignore[no-untyped-call]
        finally:
            for package in own:
                cloudpickle.unregister_pickle_by_value(package)  # type: ignore[no-untyped-call]


def _pickled_by_user(what: object) -> bytes:
    """Pickles what may call `tidemark.call_id`, which a worker without Tidemark has, too."""
    import io

    from pyspark import cloudpickle

    import tidemark
    from tidemark._calls.call_id import call_id

    spark: Any = cloudpickle.CloudPickler

    class Pickler(spark):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if obj is tidemark:
                return _module_with, (call_id,)
            if obj is call_id or obj is _module_with:
                return self._dynamic_function_reduce(obj)
            return super().reducer_override(obj)

    file = io.BytesIO()
    pickler: Any = Pickler(file)
    pickler.dump(what)
    return file.getvalue()


def _module_with(call_id: Any) -> Any:
    """On a worker: Tidemark, or a module with `call_id` alone."""
    import types

    try:
        import tidemark
    except ImportError:
        module = types.ModuleType("tidemark")
        module.call_id = call_id  # type: ignore[attr-defined]
        return module
    return tidemark
