package org.apache.spark.sql.tidemark.session

import io.tidemark.{BuildInfo, TidemarkError, TidemarkException}

import org.apache.spark.SPARK_VERSION

/** Compares the versions that the jar was built for with those that run, at session start rather than by a missing
  * method.
  */
object Compatibility {
  private val OldestJava = 17

  def check(): Unit =
    problem(SPARK_VERSION, Runtime.version().feature()).foreach { error =>
      val refused = new TidemarkException(error)
      // PySpark prints the whole trace of an error that is raised before there is a session, and this one says nothing.
      refused.setStackTrace(Array.empty)
      throw refused
    }

  private[tidemark] def problem(spark: String, java: Int): Option[TidemarkError] =
    if (minor(spark) != minor(BuildInfo.sparkMinor))
      Some(TidemarkError.SparkVersionMismatch(BuildInfo.sparkMinor, spark))
    else if (java < OldestJava) Some(TidemarkError.JavaTooOld(java))
    else None

  private def minor(version: String): (Int, Int) = {
    val numbers = version.split('.').take(2).map(_.takeWhile(_.isDigit).toInt)
    (numbers(0), numbers(1))
  }
}
