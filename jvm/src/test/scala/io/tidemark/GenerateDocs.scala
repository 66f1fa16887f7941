package io.tidemark

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.tidemark.support.{LateRowTable, ReportSample}

/** Writes what docs/ has from the code: the page of settings, the picture of a report, and four tables. That of Spark's
  * tests that differ is in stock.md, that of the operators that drop late rows in late.md, that of the reasons why
  * nothing comes out in why.md, that of what is found in a plan in explain.md. `make golden` runs it.
  */
object GenerateDocs {

  def main(arguments: Array[String]): Unit = arguments match {
    case Array(folder) =>
      val docs = Paths.get(folder).toAbsolutePath
      val stock = docs.resolve("stock.md")
      Files.writeString(docs.resolve("settings.md"), settings)
      Files.writeString(stock, withDifferences(Files.readString(stock), differences(docs.getParent)))
      val late = docs.resolve("late.md")
      Files.writeString(late, withLateRows(Files.readString(late)))
      val why = docs.resolve("why.md")
      Files.writeString(why, withVerdicts(Files.readString(why)))
      Files.writeString(docs.resolve("pictures/report.svg"), ReportSample.picture)
      val explain = docs.resolve("explain.md")
      Files.writeString(explain, withTraps(Files.readString(explain)))
      println(s"$docs: settings.md, pictures/report.svg and the tables in stock.md, late.md, why.md and explain.md are written.")
    case _ =>
      System.err.println("Give the folder of the documents, as `make golden` does.")
      sys.exit(2)
  }

  /** The text of docs/settings.md. */
  def settings: String =
    s"""# Settings
      |
      |<!-- Made by `make golden` from jvm/src/main/scala/io/tidemark/TidemarkConf.scala: change it there. -->
      |
      |This page lists every setting of Tidemark, and the settings of Spark that matter to it.
      |
      |These are settings of a session. Set them like any other: on the builder, with `--conf`, with `spark.conf.set`, or
      |with SQL's `SET`. A query uses the values that its session has when the query starts. The checkpoint does not keep
      |them, so a restarted query uses the values of its session at that time. Values are not case-sensitive. Any value
      |that is not listed is an [error](errors.md#invalid_setting). So is any other [name](errors.md#unknown_setting) that
      |begins with `spark.tidemark.`.
      |
      || setting | default | values | what it does | since |
      ||---|---|---|---|---|
      |${TidemarkConf.all.map(ofSetting).mkString("\n|")}
      |
      |These settings of Spark matter to Tidemark:
      |
      || setting | what it means for Tidemark |
      ||---|---|
      || `spark.sql.extensions` | must include `io.tidemark.TidemarkExtension`; commas separate several extensions |
      || `spark.jars` | must include the Tidemark jar for the session's Spark; `--jars` of `spark-submit` has the same effect |
      || `spark.sql.streaming.multipleWatermarkPolicy` | with `max` Tidemark leaves a query to Spark |
      || `spark.sql.streaming.statefulOperator.allowMultiple` | with `false` Tidemark leaves a query to Spark |
      || `spark.sql.streaming.noDataMicroBatches.enabled` | with `false` results wait for the next row, as in stock Spark |
      || `spark.sql.streaming.minBatchesToRetain` | how many watermark entries the checkpoint keeps; Tidemark keeps at least two |
      |""".stripMargin

  /** The tests of Spark's own that differ on purpose, as the build reads them: suite, test, reason. */
  def differences(root: Path): Seq[Seq[String]] =
    Files.readString(root.resolve("jvm/src/test/spark-suites/differences.txt")).linesIterator.map(_.trim)
      .filterNot(line => line.isEmpty || line.startsWith("#"))
      .map(_.split("\\s+\\|\\s+").toSeq)
      .toSeq

  /** The page on Spark's own tests with its table as of now. */
  def withDifferences(page: String, differences: Seq[Seq[String]]): String =
    withTable(page, "differences", Seq("suite", "test", "why") +: differences)

  /** The page on late data with its table of operators as of now. */
  def withLateRows(page: String): String = withTable(page, "late rows", LateRowTable.rows)

  /** The page on why nothing comes out with its table of cases as of now. */
  def withVerdicts(page: String): String = withTable(page, "verdicts", VerdictTable.rows)

  /** The page on explaining a query with its table of findings as of now. */
  def withTraps(page: String): String = withTable(page, "traps", TrapTable.rows)

  /** Replaces the table between two comments of a page; all else stays. */
  private def withTable(page: String, name: String, rows: Seq[Seq[String]]): String = {
    val table = rows.head +: rows.head.map(_ => "---") +: rows.tail
    val begin = page.indexOf('\n', page.indexOf(s"<!-- $name:"))
    page.take(begin + 1) + table.map(row).mkString("", "\n", "\n") + page.drop(page.indexOf(s"<!-- /$name -->"))
  }

  private def ofSetting(setting: TidemarkConf[_]): String =
    row(Seq(
      code(setting.key),
      code(default(setting)),
      setting.values.map(code).mkString(", "),
      setting.doc,
      setting.since))

  private def row(cells: Seq[String]): String = cells.map(_.replace("|", "\\|")).mkString("| ", " | ", " |")

  private def code(text: String): String = s"`$text`"

  /** The default as a user would write it: the value that reads as it. */
  private[tidemark] def default[A](setting: TidemarkConf[A]): String =
    setting.values.find(value => setting.read(value).contains(setting.default)).getOrElse(setting.default.toString)
}
