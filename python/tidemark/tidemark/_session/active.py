"""Is the extension active in a session, and if not, which of the possible reasons is it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse
from weakref import WeakSet

from tidemark import _bridge
from tidemark._errors import TidemarkError
from tidemark._session import settings
from tidemark._session.jars import EXTENSION, jar_minor, minor_of
from tidemark._version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Sessions seen with the extension active. Extensions are fixed when a session is made, so a good
# answer stays good. A bad one is not kept: asking again costs little, because an error follows.
_active: WeakSet[SparkSession] = WeakSet()


def require_extension(session: SparkSession) -> None:
    """Refuses a session in which queries would silently run as stock Spark.

    In the function of a pipeline's flow nothing can be asked. Spark then refuses the functions of
    the engine where it reads the flow: `UNRESOLVED_ROUTINE`.

    Raises:
        TidemarkError: `EXTENSION_NOT_SET`, `JAR_MISSING`, `SESSION_BEFORE_JAR` or
            `SPARK_VERSION_MISMATCH`.
    """
    if session in _active or _bridge.forbids_analysis(session):
        return
    version = _bridge.tidemark_version(session)
    problem = why_inactive(session) if version is None else mismatch(session, version)
    if problem is not None:
        raise problem
    _active.add(session)


def session_with_extension(spark: SparkSession | None) -> SparkSession:
    """The session that was given, or else the active one, if the extension is active in it.

    Raises:
        TidemarkError: As `require_extension`.
    """
    session = _bridge.active_session() if spark is None else spark
    require_extension(session)
    return session


def mismatch(session: SparkSession, version: str) -> TidemarkError | None:
    """The error for an active extension that was built for another Spark minor.

    Args:
        session: The session.
        version: What `tidemark_version()` says, e.g. `0.1.0 spark-4.3`.
    """
    built_for = version.rpartition("spark-")[2]
    minor = minor_of(session.version)
    if built_for == minor:
        return None
    return TidemarkError(
        "SPARK_VERSION_MISMATCH",
        f"The jar was built for Spark {built_for}, but this is Spark {minor}",
        "giving Spark the jar that tidemark.jars.jar_path() names",
        builtFor=built_for,
        running=minor,
    )


def other_release(version: str) -> TidemarkError | None:
    """The error for a jar of another Tidemark release than this package.

    The two exchange only SQL and JSON, so this is worth a warning and does not stop the session.
    """
    jar = version.partition(" ")[0]
    if jar == __version__:
        return None
    return TidemarkError(
        "JAR_VERSION_MISMATCH",
        f"The session runs the jar of Tidemark {jar}, but this package is {__version__}",
        "giving Spark the jar that tidemark.jars.jar_path() names",
        jarVersion=jar,
        packageVersion=__version__,
    )


def why_inactive(session: SparkSession) -> TidemarkError:
    """The most exact error for a session without the extension.

    An extension class that is not on the class path is only a warning in Spark's log. Whether the
    jar is missing or came too late shows in `spark.jars`.
    """
    if EXTENSION not in settings.split(_bridge.setting(session, "spark.sql.extensions")):
        return TidemarkError(
            "EXTENSION_NOT_SET",
            f"spark.sql.extensions of this session does not name {EXTENSION}",
            _how_to_set_the_extension(session),
            extension=EXTENSION,
        )
    return why_no_class(session)


def how_to_start_with_jar() -> str:
    """What helps if the JVM of this process runs without the jar, and can no longer load it."""
    if _bridge.is_submitted():
        return (
            "passing the path that tidemark.jars.jar_path() returns to `spark-submit --jars`, and "
            "building the session with tidemark.configure"
        )
    return (
        "calling tidemark.configure before the first session of another Python process, or in a "
        "notebook after restarting its kernel"
    )


def _how_to_set_the_extension(session: SparkSession) -> str:
    if _bridge.is_connect(session) and not _bridge.is_local_connect():
        return (
            "starting the Spark Connect server with `--jars` and the path of the jar, and "
            f"`--conf spark.sql.extensions={EXTENSION}`"
        )
    if _bridge.jvm_can_load(EXTENSION):
        # The JVM has the class, so a new session of it can have the extension.
        return (
            "calling `spark.stop()`, and building the session again with "
            "tidemark.configure(SparkSession.builder).getOrCreate()"
        )
    return how_to_start_with_jar()


def why_no_class(session: SparkSession) -> TidemarkError:
    """The error for an extension that is named but whose class Spark could not load."""
    named = [
        jar for jar in settings.split(_bridge.setting(session, "spark.jars")) if jar_minor(jar)
    ]
    if not named:
        return _jar_missing("spark.jars names no Tidemark jar")
    gone = [jar for jar in named if _is_absent_file(jar)]
    if gone:
        return _jar_missing(f"the file {gone[0]} in spark.jars does not exist")
    if _bridge.is_connect(session):
        return _jar_missing(f"the server could not load the class from {named[0]}")
    return TidemarkError(
        "SESSION_BEFORE_JAR",
        "spark.jars names Tidemark's jar, but the JVM started before that and has no such class",
        how_to_start_with_jar(),
    )


def _jar_missing(reason: str) -> TidemarkError:
    return TidemarkError(
        "JAR_MISSING",
        f"Spark cannot load the class {EXTENSION} and only logs a warning about it: {reason}",
        "adding the jar that tidemark.jars.jar_path() names to spark.jars, or by using "
        "tidemark.configure, which does both",
        extension=EXTENSION,
        reason=reason,
    )


def _is_absent_file(jar: str) -> bool:
    url = urlparse(jar)
    return url.scheme in ("", "file") and not Path(unquote(url.path)).exists()
