package org.apache.spark.sql.tidemark.optimizer

import java.sql.Timestamp
import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.Future
import scala.jdk.CollectionConverters._

import io.tidemark.AsyncOptions
import io.tidemark.functions.{mapAsync, withWatermark}

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{Alias, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Project}
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.columns.PythonCalls
import org.apache.spark.sql.tidemark.support.WatermarkTest
import org.apache.spark.sql.types._

/** The numbers for which calls were made. */
object CalledNumbers {
  val all = new ConcurrentLinkedQueue[Long]
}

/** A filter above asynchronous calls works as it does above any function: on the rows below, before watermark and calls. */
class FiltersOfCallsSuite extends WatermarkTest {
  import testImplicits._

  private def called(df: DataFrame): DataFrame =
    mapAsync(df, "called", Seq($"n"), LongType, AsyncOptions()) { row =>
      CalledNumbers.all.add(row.getLong(0))
      Future.successful(row.getLong(0) * 10)
    }

  private def callsFor(df: DataFrame): Set[Long] = {
    CalledNumbers.all.clear()
    df.collect()
    CalledNumbers.all.asScala.toSet
  }

  private val numbers = (0L until 10L).toSet

  test("no call is made for a row that a filter above leaves out") {
    val rows = called(spark.range(10).selectExpr("id AS n", "id + 1 AS more"))
    assert(callsFor(rows.where("n < 3")) === Set(0L, 1L, 2L))
    assert(callsFor(rows.where("more < 3 AND called >= 0")) === Set(0L, 1L))
    assert(callsFor(rows.selectExpr("n * 2 AS double", "called").where("double = 4")) === Set(2L))
    assert(callsFor(rows.where("called < 30")) === numbers)
    assert(callsFor(rows.where("n + called < 33")) === numbers)
    assert(callsFor(rows.where(rand() < 2)) === numbers)
    assert(called(spark.range(10).toDF("n")).where("n < 3 AND called < 20").as[(Long, Long)].collect().toSet ===
      Set((0L, 0L), (1L, 10L)))
  }

  test("rows that a filter above calls leaves out advance no watermark, as without the calls") {
    def windows(calls: DataFrame => DataFrame) = {
      val stream = MemoryStream[(Long, Timestamp)]
      val marked = withWatermark(stream.toDF().toDF("n", "time"), "time", "1 minute")
      stream -> calls(marked).where("n < 3").groupBy(window($"time", "10 minutes")).count()
        .select(date_format($"window.start", "HH:mm"), $"count")
    }
    for (calls <- Seq[DataFrame => DataFrame](identity, called)) {
      val (stream, counted) = windows(calls)
      testStream(counted)(
        AddData(stream, (1L, at("10:00")), (7L, at("12:00"))),
        CheckNewAnswer(),
        AddData(stream, (2L, at("10:05"))),
        CheckNewAnswer(),
        AddData(stream, (2L, at("10:12"))),
        CheckNewAnswer(("10:00", 2L)))
    }
  }

  /** As `tidemark.map_async` in Python adds it. */
  private def inPython(df: DataFrame, input: Column, others: Column*): DataFrame = {
    val session = spark.asInstanceOf[ClassicSession]
    val columns = col("*") +: others :+ input.as("given")
    val child = df.select(columns: _*).asInstanceOf[Dataset[_]].logicalPlan.asInstanceOf[Project]
    val inputs = Seq(child.projectList.last.asInstanceOf[Alias].child)
    val kind = PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF
    val call = PythonUDF(PythonCalls.Prefix + "called", null, LongType, inputs, kind, udfDeterministic = false)
    Dataset.ofRows(session, Project(child.projectList.init :+ Alias(call, "called")(), child.child))
  }

  /** Whether a filter is below the calls, and whether one is left above. */
  private def filters(df: DataFrame): (Boolean, Boolean) = {
    val plan = df.queryExecution.optimizedPlan
    val below = plan.collectFirst {
      case node if node.expressions.exists(_.exists(_.isInstanceOf[PythonUDF])) => node.children.head
    }.get
    (
      below.exists(_.isInstanceOf[Filter]),
      plan.exists(node => node.isInstanceOf[Filter] && (node ne below) && node.exists(_ eq below)))
  }

  test("Python: a filter that needs no result is pushed below the calls") {
    val rows = spark.range(10).selectExpr("id AS n", "cast(id AS INT) AS small")
    assert(filters(inPython(rows, $"n").where("small < 3")) === (true, false))
    assert(filters(inPython(rows, $"n", ($"n" + 1).as("more")).where("more < 3 AND called < 3")) === (true, true))
    assert(filters(inPython(rows, $"n").where("called < 3")) === (false, true))
    assert(filters(inPython(rows, $"n").where("n < 3 AND rand() < 0.5")) === (false, true))
    // The random numbers of the rows would be others.
    assert(filters(inPython(rows, rand()).where("n < 3")) === (false, true))
    assert(filters(inPython(rows, $"n", rand().as("random")).where("n < 3")) === (false, true))
  }
}
