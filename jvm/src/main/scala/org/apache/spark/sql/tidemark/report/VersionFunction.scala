package org.apache.spark.sql.tidemark.report

import io.tidemark.BuildInfo

import org.apache.spark.sql.tidemark.session.SqlFunctions

/** `tidemark_version()`: which jar is active; how Python (also over Connect) knows that the extension is there. */
object VersionFunction {
  private val name = "tidemark_version"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, "() - the version of Tidemark, and the Spark minor version it was built for") {
      _ =>
        SqlFunctions.text(s"${BuildInfo.version} spark-${BuildInfo.sparkMinor}")
    }
}
