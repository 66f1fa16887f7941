"""The only module that reaches into pyspark's private side or the JVM, by py4j or by SQL.

What can be said in SQL is said in SQL, so that it works on Spark Connect, where there is no JVM
within reach. Everything else here answers one question: what will Spark see, and what does it run
with? pyspark is imported inside the functions, because importing tidemark must cost nothing.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import DataType


def pyspark_version() -> str:
    """The version of the installed pyspark, e.g. `4.3.0`."""
    import pyspark

    return str(pyspark.__version__)


def spark_home() -> str:
    """The folder Spark starts from: `$SPARK_HOME`, else pip's pyspark."""
    from pyspark.find_spark_home import _find_spark_home

    return str(_find_spark_home())


def builder_options(builder: SparkSession.Builder) -> dict[str, str]:
    """A copy of what has been set on a session builder so far."""
    return {key: str(value) for key, value in getattr(builder, "_options", {}).items()}


def jvm_is_running() -> bool:
    """Whether this Python has a JVM already, or was itself started by one (`spark-submit`)."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None or is_submitted()


def is_submitted() -> bool:
    """Whether a JVM has started this Python, as `spark-submit` does."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def jvm_property(name: str) -> str | None:
    """A system property of the running JVM; `spark-submit` puts all its `spark.*` settings there."""
    value = getattr(_jvm(), "java.lang.System").getProperty(name)
    return None if value is None else str(value)


def jvm_can_load(class_name: str) -> bool:
    """Whether the running JVM has a class on its class path, asked the way Spark looks it up."""
    return bool(getattr(_jvm(), "org.apache.spark.util.Utils").classIsLoadable(class_name))


def running_session() -> SparkSession | None:
    """The session `getOrCreate` would give back instead of making one; starts nothing."""
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    if session is not None and session._sc._jsc is not None:
        return session
    return SparkSession.getActiveSession()


def is_connect(session: SparkSession) -> bool:
    """Whether a session talks to a Spark Connect server: no JVM is within reach then."""
    return not hasattr(session, "_jsparkSession")


def is_local_connect() -> bool:
    """Whether the Spark Connect server of this process runs in the JVM of this process."""
    return "SPARK_LOCAL_REMOTE" in os.environ


def forbids_analysis(session: SparkSession) -> bool:
    """Whether Spark refuses here to analyse a DataFrame and to run anything.

    It does so in the function of a pipeline's flow, whose tables may not exist yet. Spark's client
    adds the flow to each request of this thread.
    """
    client = getattr(session, "_client", None)
    added = getattr(getattr(client, "thread_local", None), "user_context_extensions", ())
    return any(_names_flow(extension) for _, extension in added)


def _names_flow(extension: Any) -> bool:
    from pyspark.sql.connect import proto

    # The file that defines flows has a context, too, but without a flow: it may analyse.
    context = proto.PipelineAnalysisContext()
    return bool(extension.Unpack(context)) and bool(context.HasField("flow_name"))


def setting(session: SparkSession, key: str) -> str:
    """A setting of a session, fixed ones included; empty when it is not set."""
    return str(session.conf.get(key, "") or "")


def java_version(session: SparkSession) -> str:
    """The Java a session runs on, e.g. `17.0.15`."""
    row = session.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
    return str(row.collect()[0][0])


def tidemark_version(session: SparkSession) -> str | None:
    """What the extension says of itself, e.g. `0.1.0 spark-4.3`; None when it is not active."""
    found = _called(session, "tidemark_version()")
    return None if found is None else str(found)


def _called(session: SparkSession, call: str) -> Any:
    """What a function of the engine returns; None if the session does not have the function."""
    from pyspark.errors import AnalysisException

    with expecting_an_error():
        try:
            return session.sql(f"SELECT {call}").collect()[0][0]
        except AnalysisException as error:
            if error.getCondition() == "UNRESOLVED_ROUTINE":
                return None
            raise


def report_json(query: StreamingQuery | uuid.UUID, session: SparkSession | None) -> str:
    """The report of a query as JSON, also if Tidemark does not know the query.

    The query is asked through its own session, which may differ from the active one.
    """
    run = query if isinstance(query, uuid.UUID) else query.runId
    text = f"SELECT tidemark_report('{run}')"
    if session is None and hasattr(query, "_jsq"):
        # py4j's own session object: wrapping it into a Python one would make it the active session.
        return str(query._jsq.sparkSession().sql(text).head().get(0))
    return str((session or session_of(query)).sql(text).collect()[0][0])


def drawn(session: SparkSession, report: str) -> str:
    """The drawing of a report's history, as an SVG file.

    The alias keeps the text of the report out of the plan that Spark shows and logs.
    """
    return str(_called(session, f"tidemark_svg({_text(report)}) AS drawing"))


def explain_json(df: DataFrame, output_mode: str, trigger: str | None) -> str:
    """What the engine says of a streaming DataFrame that is not started, as JSON."""
    view = f"tidemark_explain_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(view)
    try:
        given = ", ".join(
            _text(argument) for argument in (view, output_mode, trigger) if argument is not None
        )
        return str(df.sparkSession.sql(f"SELECT tidemark_explain({given})").collect()[0][0])
    finally:
        df.sparkSession.catalog.dropTempView(view)


def log_table(session: SparkSession, checkpoint: str) -> DataFrame:
    """The log of a query, by where its checkpoint is."""
    return session.sql(f"SELECT * FROM tidemark_log({_text(checkpoint)})")


def marks_table(session: SparkSession, location: str, options: Mapping[str, str]) -> DataFrame:
    """The marks of a mark log, by where it is."""
    given = ", ".join(_text(text) for pair in options.items() for text in pair)
    more = f", map({given})" if given else ""
    return session.sql(f"SELECT * FROM tidemark_marks({_text(location)}{more})")


def offsets_table(
    session: SparkSession, checkpoint: str, time: str | int, edge: str, key: str | None
) -> DataFrame:
    """How far a query had read its sources at an event time: a text, or µs since the epoch."""
    arguments = ", ".join([_text(checkpoint), _time(time), _text(edge), _text(key)])
    return session.sql(f"SELECT * FROM tidemark_offsets({arguments})")


def corrected(
    session: SparkSession, function: str, checkpoint: str, key: str, more: list[str | int | None]
) -> Row:
    """What has changed in a checkpoint. The engine changes it when the row is asked for, once."""
    arguments = ", ".join([_text(checkpoint), _text(key), *map(_time, more)])
    return session.sql(f"SELECT * FROM {function}({arguments})").collect()[0]


def _time(value: str | int | None) -> str:
    """A text, or a time in µs since the epoch."""
    return f"timestamp_micros({value}L)" if isinstance(value, int) else _text(value)


def delta_detail(session: SparkSession, path: str) -> tuple[str, dict[str, str]]:
    """The ID and the properties of a Delta table."""
    row = session.sql(f"DESCRIBE DETAIL {_delta(path)}").select("id", "properties").collect()[0]
    return str(row["id"]), dict(row["properties"] or {})


def delta_version(session: SparkSession, path: str) -> int:
    """The latest version of a Delta table."""
    history = session.sql(f"DESCRIBE HISTORY {_delta(path)} LIMIT 1")
    return int(history.select("version").collect()[0][0])


def _delta(path: str) -> str:
    name = path.replace("`", "``")
    return f"delta.`{name}`"


def _text(value: str | None) -> str:
    """A text in SQL, as bytes.

    What a backslash means is a setting, and parsers of other extensions (Delta's on Spark 4.1) lose
    the parameters of a text.
    """
    if value is None:
        return "CAST(NULL AS STRING)"
    return f"CAST(X'{value.encode(errors='surrogateescape').hex()}' AS STRING)"


def settings_problem(session: SparkSession) -> dict[str, str] | None:
    """What is wrong with the settings of a session: `code`, `what` and `fix`; None if nothing is."""
    found = _called(session, "tidemark_settings()")
    return None if found is None else dict(json.loads(found))


def message_parameters(error: BaseException, prefix: str) -> dict[str, str] | None:
    """The parameters of one of pyspark's errors; None if its condition does not begin like this."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException) and (error.getCondition() or "").startswith(prefix):
        return dict(error.getMessageParameters() or {})
    return None


def jvm_cause(error: BaseException) -> BaseException | None:
    """What caused an error of the JVM: pyspark keeps that to itself, and sets no `__cause__`."""
    cause = getattr(error, "_cause", None)
    return cause if isinstance(cause, BaseException) else None


def plain_name(column: Any) -> str | None:
    """The name that a `Column` is, as Spark's parser takes it; None if it is anything else."""
    if type(column).__module__.startswith("pyspark.sql.connect"):
        expression = column._expr
        if type(expression).__name__ != "ColumnReference":
            return None
        return str(expression.name())
    node = column._jc.node()
    kind = node.getClass().getSimpleName()
    if kind == "ExpressionColumnNode":
        # That of `df.time` or `df["time"]`.
        attribute = node.expression()
        is_name = attribute.getClass().getSimpleName() == "AttributeReference"
        return str(attribute.name()) if is_name else None
    return str(node.sql()) if kind == "UnresolvedAttribute" else None


def is_of_a_data_frame(column: Any) -> bool:
    """Whether a `Column` was taken from a DataFrame, as `df.time` is, and is not only a name."""
    if type(column).__module__.startswith("pyspark.sql.connect"):
        return getattr(column._expr, "_plan_id", None) is not None
    return str(column._jc.node().getClass().getSimpleName()) == "ExpressionColumnNode"


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type that a Python worker has to return for one of Spark's; times are in UTC.

    Raises:
        PySparkException: For a type that Arrow does not have.
    """
    from pyspark.sql.pandas import types

    try:
        return types.to_arrow_type(kind, timezone="UTC")
    except TypeError:
        # Up to Spark 4.2, times are in UTC unless something else is said.
        return types.to_arrow_type(kind)


def has_arrow_functions() -> bool:
    """Whether this pyspark has functions over Arrow's columns, as all but 4.0 have."""
    from pyspark.sql.pandas import functions

    return hasattr(functions, "arrow_udf")


def active_session() -> SparkSession:
    """The active session."""
    from pyspark.sql import SparkSession

    return SparkSession.active()


def session_of(query: StreamingQuery | uuid.UUID) -> SparkSession:
    """A session that can be asked about a query: its own on Connect, else the active one."""
    from pyspark.sql import SparkSession

    own: SparkSession | None = getattr(query, "_session", None)
    return own if own is not None else SparkSession.active()


def _jvm() -> Any:
    from pyspark import SparkContext

    # Does nothing when there is a gateway; under spark-submit it connects to the JVM that waits.
    SparkContext._ensure_initialized()
    return SparkContext._jvm


@contextmanager
def expecting_an_error() -> Iterator[None]:
    """Keeps what pyspark logs of an error that is an answer here off the user's screen.

    pyspark logs an error with its whole stack before a caller can catch it. What other threads log
    is not touched.
    """
    from pyspark.logger import PySparkLogger

    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [PySparkLogger.getLogger(name) for name in names]
    thread = threading.get_ident()

    def from_elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    for logger in loggers:
        logger.addFilter(from_elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(from_elsewhere)
