package org.apache.spark.sql.tidemark.report

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.session.{SessionConf, SqlFunctions}
import org.apache.spark.sql.types.StringType

/** `tidemark_settings()`: the first problem with the session's settings as JSON; null if there is none. */
object SettingsFunction {
  private val name = "tidemark_settings"
  private val usage =
    "() - the first problem with the session's spark.tidemark settings, as JSON; null if there is none"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, usage) { _ =>
      SessionConf.problem(SQLConf.get).fold[Expression](Literal(null, StringType)) { error =>
        val fields = Json.obj("code" -> error.code, "what" -> error.what, "fix" -> error.fix)
        SqlFunctions.text(Json.text(fields))
      }
    }
}
