package org.apache.spark.sql.tidemark

import java.util.UUID

import scala.util.Try

import io.tidemark.BuildInfo

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** `tidemark_version()`: which jar is active; how Python (also over Connect) knows that the extension is there. */
object VersionFunction {
  private val name = "tidemark_version"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, "() - version of Tidemark, and the Spark minor version it is built for") {
      _ =>
        SqlFunctions.text(s"${BuildInfo.version} spark-${BuildInfo.sparkMinor}")
    }
}

/** `tidemark_report(id)`: JSON of a query of this application, by its id or its run's; null where it is not known. */
object ReportFunction {
  private val name = "tidemark_report"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, "(id) - watermarks of a streaming query, as JSON") { arguments =>
      val id = arguments.headOption.filter(_.foldable).flatMap(a => Option(a.eval())).map(_.toString)
      val report = id.flatMap(text => Try(UUID.fromString(text)).toOption).flatMap(Takeovers.report)
      report.fold[Expression](Literal(null, StringType))(r => SqlFunctions.text(r.json))
    }
}

/** `tidemark_settings()`: JSON of what is wrong with the settings of the session; null where nothing is. */
object SettingsFunction {
  private val name = "tidemark_settings"
  private val usage = "() - what is wrong with the session's spark.tidemark settings, as JSON; null where nothing is"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, usage) { _ =>
      Settings.problem(SQLConf.get).fold[Expression](Literal(null, StringType)) { error =>
        val fields = Report.obj("code" -> error.code, "what" -> error.what, "fix" -> error.fix)
        SqlFunctions.text(new ObjectMapper().writeValueAsString(fields))
      }
    }
}

object SqlFunctions {

  /** What Spark takes to make a function known. */
  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression)

  /** @param usage what it takes, and what it gives; without its name */
  private[tidemark] def described(of: Class[_], name: String, usage: String)(
      build: Seq[Expression] => Expression): Description = {
    (new FunctionIdentifier(name), info(of, name, usage), build)
  }

  private[tidemark] def info(of: Class[_], name: String, usage: String): ExpressionInfo =
    new ExpressionInfo(of.getName, null, name, s"_FUNC_$usage", "", "", "", "", "", "", "built-in")

  private[tidemark] def text(value: String): Expression = Literal(UTF8String.fromString(value), StringType)
}
