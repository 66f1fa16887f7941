"""Adds the jar and the extension to a session's settings, and keeps what is set already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session import active, java, settings
from tidemark._session.jars import EXTENSION, jar_minor, jar_path, minor_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JARS = "spark.jars"
_EXTENSIONS = "spark.sql.extensions"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds Tidemark's jar and extension to a session builder.

    It appends to `spark.jars` and `spark.sql.extensions`, and keeps what the builder,
    `PYSPARK_SUBMIT_ARGS` or `spark-defaults.conf` have set there. If `PYSPARK_SUBMIT_ARGS` names
    jars, the jar is added there as well, because Spark prefers these to the builder's. A second
    call changes nothing. Settings made on the builder *after* this call replace these: call it
    last. Under `spark-submit` the JVM runs before the job, so the jar has to be in `--jars`, and
    this call adds only the extension.

    Args:
        builder: `SparkSession.builder`, with all other settings made.

    Returns:
        The same builder.

    Raises:
        TidemarkError: `PACKAGE_JAR_MISSING`, `SPARK_NOT_SUPPORTED` or `SPARK_VERSION_MISMATCH` if no
            jar fits. `JAVA_TOO_OLD` if Java cannot run Spark. `SESSION_BEFORE_JAR` if the JVM
            already runs without the jar.
            `EXTENSION_NOT_SET` if a session already runs without the extension.
            `UNSUPPORTED_ON_CONNECT` for a server that runs elsewhere.

    Example:
        >>> spark = tidemark.configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    options = _bridge.builder_options(builder)
    _refuse_remote_server(options)
    running = _bridge.jvm_is_running()
    if running:
        _require_loaded_jar()
    else:
        java.require_java()

    jars = _effective_jars(options, running)
    _refuse_other_minor(jars)
    if not any(jar_minor(jar) for jar in jars):
        jars.append(jar_path())
    extensions = _effective_extensions(options, running)

    if not running:
        settings.append_to_submit_jars(next(jar for jar in jars if jar_minor(jar)))
    builder.config(_JARS, settings.join(jars))
    builder.config(_EXTENSIONS, settings.join(extensions, [EXTENSION]))
    return builder


def _effective_jars(options: dict[str, str], running: bool) -> list[str]:
    if running:
        before = options.get(_JARS) or _bridge.jvm_property(_JARS)
        return settings.split(before)
    named = settings.split(options.get(_JARS)) + settings.submit_jars()
    return list(dict.fromkeys(named or settings.split(settings.default(_JARS))))


def _effective_extensions(options: dict[str, str], running: bool) -> list[str]:
    if _EXTENSIONS in options:
        return settings.split(options[_EXTENSIONS])
    if running:
        return settings.split(_bridge.jvm_property(_EXTENSIONS))
    return settings.split(settings.submit_conf(_EXTENSIONS) or settings.default(_EXTENSIONS))


def _refuse_remote_server(options: dict[str, str]) -> None:
    remote = options.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")
    master = options.get("spark.master", "")
    for url in (remote, master):
        # "local" and "local-cluster" start their server from this very process, settings included.
        if url.startswith("sc://"):
            raise TidemarkError(
                "UNSUPPORTED_ON_CONNECT",
                f"A client cannot add a jar to a Spark Connect server that is running, as {url} is",
                "starting the server with `--jars` and the path of the jar that "
                f"tidemark.jars.jar_path() names there, and `--conf {_EXTENSIONS}={EXTENSION}`, and by "
                "leaving tidemark.configure out on the client",
                server=url,
            )


def _require_loaded_jar() -> None:
    if not _bridge.jvm_can_load(EXTENSION):
        raise TidemarkError(
            "SESSION_BEFORE_JAR",
            "The JVM of this process started before Tidemark's jar was set, and a running JVM "
            "cannot add jars to its class path",
            active.how_to_start_with_jar(),
        )
    session = _bridge.running_session()
    if session is not None and _bridge.tidemark_version(session) is None:
        raise TidemarkError(
            "EXTENSION_NOT_SET",
            "A Spark session is running without the extension, and getOrCreate would return it",
            "calling `spark.stop()` on it before tidemark.configure(...).getOrCreate()",
        )


def _refuse_other_minor(jars: list[str]) -> None:
    minor = minor_of(_bridge.pyspark_version())
    for jar in jars:
        built_for = jar_minor(jar)
        if built_for is not None and built_for != minor:
            raise TidemarkError(
                "SPARK_VERSION_MISMATCH",
                f"{_JARS} names {jar}, which was built for Spark {built_for}, but this is {minor}",
                "removing that jar: tidemark.configure adds the right one",
                jar=jar,
                builtFor=built_for,
                running=minor,
            )
