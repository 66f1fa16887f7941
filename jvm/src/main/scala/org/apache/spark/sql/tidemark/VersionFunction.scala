package org.apache.spark.sql.tidemark

import io.tidemark.BuildInfo

/** `tidemark_version()`: which jar is active; how Python (also over Connect) knows that the extension is there. */
object VersionFunction {
  private val name = "tidemark_version"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, "() - version of Tidemark, and the Spark minor version it is built for") {
      _ =>
        SqlFunctions.text(s"${BuildInfo.version} spark-${BuildInfo.sparkMinor}")
    }
}
