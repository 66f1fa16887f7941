package org.apache.spark.sql.tidemark.report

import io.tidemark.BuildInfo

import org.apache.spark.sql.tidemark.session.SqlFunctions

/** `tidemark_version()`: the jar's version. Python, also over Connect, detects the extension by it. */
object VersionFunction {
  private val name = "tidemark_version"

  val description: SqlFunctions.Description =
    SqlFunctions.described(
      getClass,
      name,
      "() - the version of Tidemark, and the Spark minor version it was built for") {
      _ =>
        SqlFunctions.text(s"${BuildInfo.version} spark-${BuildInfo.sparkMinor}")
    }
}
