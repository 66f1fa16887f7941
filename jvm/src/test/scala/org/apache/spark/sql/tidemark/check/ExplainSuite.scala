package org.apache.spark.sql.tidemark.check

import io.tidemark.functions.{explain, withWatermark}

import org.apache.spark.sql.catalyst.streaming.InternalOutputModes._
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf

/** What a plan says before it runs: its text, and the functions that return it. */
class ExplainSuite extends ExplainTest {
  import testImplicits._

  test("sound queries have neither an error nor a warning") {
    val sound = Seq(
      windows(orders),
      joined(),
      joined("left_outer"),
      orders.dropDuplicates("id", "at"),
      orders.dropDuplicatesWithinWatermark("id"),
      windows(orders.union(payments)),
      orders.groupBy(session_window($"at", "5 minutes"), $"id").count(),
      orders.groupBy(window($"at", "1 hour", "10 minutes"), $"id").count(),
      windows(windows(orders).select(window_time($"window").as("t")), "t"),
      orders.withColumnRenamed("at", "t").groupBy(window($"t", "1 hour").as("w"), $"id").count(),
      orders.join(Seq(1).toDF("id"), "id").groupBy(window($"at", "1 hour")).count(),
      withState(orders))
    for (query <- sound) {
      val bad = found(query, Append).filter(_.severity.name != "info")
      assert(bad.isEmpty, s"$bad in ${query.queryExecution.analyzed}")
    }
  }

  test("a query with one input has nothing unusual to say, in each output mode that suits it") {
    for (mode <- Seq(Append, Update)) assert(unusual(explained(windows(orders), mode)) === Nil)
    assert(unusual(explained(windows(orders), Complete)) === Seq("COMPLETE_MODE"))
  }

  test("the text has each operator's column, what it waits for, and the findings") {
    val text = explained(joined("left_outer")).text(new io.tidemark.core.why.Words(java.time.ZoneOffset.UTC))
    assert(text ===
      """5 for information.
        |operators
        |  join (left outer) #0 left   late by "at"    waits for "paid" to be 15 minutes past a row; even while idle: "at", "paid"
        |  join (left outer) #0 right  late by "paid"  waits for "at" to be 1 ms past a row; even while idle: "at", "paid"
        |info    FAR_FUTURE
        |        "at" believes any time: one row that is dated years ahead makes all rows after it late.
        |        Fix this by setting max_ahead on "at", such as max_ahead="1 day", if its times are clock times.
        |info    FAR_FUTURE
        |        "paid" believes any time: one row that is dated years ahead makes all rows after it late.
        |        Fix this by setting max_ahead on "paid", such as max_ahead="1 day", if its times are clock times.
        |info    NO_IDLE_TIME
        |        If "at" falls silent, join (left outer) #0 will wait for it forever.
        |        Fix this by setting idle=tidemark.Idle(after="10 minutes", at_join="follow") on "at", if it may be silent and its rows after a silence may be late.
        |info    NO_IDLE_TIME
        |        If "paid" falls silent, join (left outer) #0 will wait for it forever.
        |        Fix this by setting idle=tidemark.Idle(after="10 minutes", at_join="follow") on "paid", if it may be silent and its rows after a silence may be late.
        |info    OUTER_ROWS_WAIT
        |        A row of the left side without a match comes out of the join (left outer) #0 only when the watermark of "paid" has passed it.
        |        Fix this by setting idle=tidemark.Idle(after="10 minutes", at_join="follow") on "paid", if such rows must not wait for a silent input.""".stripMargin)
  }

  test("what a column or its expression contains is escaped, and hidden where Spark hides it") {
    val hostile = "at\n\u001b[2J"
    val made = orders.withColumn("text", lit("secret-key\u202e")).withColumn(hostile, expr("try_to_timestamp(text)"))
    def findings = found(withWatermark(made, hostile, "1 minute"), Append).filter(_.code == "EVENT_TIME_MAY_BE_NULL")
    assert(findings.map(_.sentence).mkString.contains("at\\n\\u001b[2J"), findings)
    assert(findings.forall(finding => (finding.sentence + finding.fix).forall(!Character.isISOControl(_))))
    withSQLConf(SQLConf.SQL_STRING_REDACTION_PATTERN.key -> "try_to_[a-z]+") {
      assert(findings.size === 1 && findings.forall(!_.sentence.contains("try_to_timestamp")), findings)
    }
  }

  test("the SQL function explains a view, and refuses one that is not a stream") {
    windows(orders.union(payments)).createOrReplaceTempView("watched")
    val json = spark.sql("SELECT tidemark_explain('watched', 'append')").head().getString(0)
    assert(json.contains("\"NO_IDLE_TIME\"") && json.contains("\"aggregation #0\""))
    Seq(1).toDF("id").createOrReplaceTempView("still")
    assertRefused("NOT_STREAMING", "view" -> "still")(spark.sql("SELECT tidemark_explain('still', 'append')").head())
    assertRefused("INVALID_OPTION", "option" -> "output_mode", "value" -> "now") {
      spark.sql("SELECT tidemark_explain('watched', 'now')").head()
    }
  }

  test("Scala's explain has the findings of the SQL function, and leaves no view") {
    val before = spark.catalog.listTables().count()
    val explanation = explain(orders.dropDuplicates("id"))
    assert(explanation.findings.map(finding => (finding.code, finding.severity)).head === "DEDUP_FOREVER" -> "warning")
    assert(explanation.findings.head.operator === Some("dropDuplicates by id") &&
      explanation.toString === explanation.text)
    assert(spark.catalog.listTables().count() === before)
  }

  test("to explain a query changes nothing in its session") {
    val before = spark.experimental.extraOptimizations
    val settings = spark.conf.getAll
    explained(joined())
    assert(spark.experimental.extraOptimizations === before && spark.conf.getAll === settings)
  }
}
