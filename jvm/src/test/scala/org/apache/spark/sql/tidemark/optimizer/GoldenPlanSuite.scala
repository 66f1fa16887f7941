package org.apache.spark.sql.tidemark.optimizer

import java.nio.file.{Files, Path, Paths}
import java.sql.Timestamp

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** Plans as Tidemark's rule changes them, kept as text in `jvm/src/test/resources/golden`.
  *
  * Write them again with `make golden`.
  */
class GoldenPlanSuite extends WatermarkTest {
  import testImplicits._

  override protected def generatesCode: Boolean = true

  private val isWriting = sys.props.get("tidemark.golden").contains("write")

  private def near = expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 15 MINUTES")

  /** The plan of a query's last batch, after both streams have reached `10:00`, and then `10:30` and `10:40`. */
  private def plan(query: (DataFrame, DataFrame) => DataFrame): SparkPlan = {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    lastPlan(query(a, b))(
      MultiAddData(left, 1 -> at("10:00"))(right, 1 -> at("10:00")),
      ProcessAllAvailable(),
      MultiAddData(left, 2 -> at("10:30"))(right, 2 -> at("10:40")),
      ProcessAllAvailable())
  }

  private def lastPlan(query: DataFrame)(steps: StreamAction*): SparkPlan = {
    var last: Option[SparkPlan] = None
    testStream(query)(steps :+ Execute((q: StreamExecution) => last = Some(q.lastExecution.executedPlan)): _*)
    last.get
  }

  test("the plan of an outer join matches its golden file") {
    check("outer_join", plan((a, b) => a.join(b, near, "left_outer")))
  }

  test("the plan of an aggregation with a carried column matches its golden file") {
    check(
      "carried_column",
      plan((a, b) => a.join(b, near).groupBy(window($"ta", "10 minutes"), $"tb").count()))
  }

  test("the plan of deduplication by one of two times matches its golden file") {
    check("deduplication", plan((a, b) => a.join(b, near).dropDuplicates("tb", "a")))
  }

  test("the plan of an order matches its golden file, with a shuffle and a deduplication above") {
    val (stream, df) = timed("t", "10 minutes")
    val ordered = inOrder(df, "t", OrderOptions(by = Seq($"id" % 3), thenBy = Seq($"id")))
    val steps =
      Seq("10:00", "10:30").flatMap(clock => Seq[StreamAction](AddData(stream, 1 -> at(clock)), ProcessAllAvailable()))
    check("in_order", lastPlan(ordered.dropDuplicates("id"))(steps: _*))
  }

  test("the plan of a union of aggregations differs from stock Spark's only in Tidemark's additions") {
    def counts(df: DataFrame, time: String) = df.groupBy(window(col(time), "10 minutes")).count()
    val ours = checkAdditions(plan((a, b) => counts(a, "ta").union(counts(b, "tb"))), additions = 3)
    assert(ours.contains(millis("10:30").toString) && ours.contains(millis("10:40").toString))
  }

  /** What depends on the order of its rows, and how many nodes count late rows there. */
  private val orderSensitive = Seq[(String, Int, DataFrame => DataFrame)](
    (
      "a function with state",
      2,
      _.as[(Int, Timestamp)].groupByKey(_._1)
        .flatMapGroupsWithState[Int, Int](OutputMode.Append, GroupStateTimeout.EventTimeTimeout) {
          case (id, rows, _) => rows.map(_ => id)
        }.toDF("id")),
    ("deduplication", 2, _.dropDuplicates("id")),
    ("deduplication within the watermark", 2, _.dropDuplicatesWithinWatermark("id")),
    ("a limit", 0, _.limit(3)))

  for ((name, additions, query) <- orderSensitive)
    test(s"without an order, the plan of $name differs from stock Spark's only in Tidemark's additions") {
      def last = {
        val (stream, df) = timed("t", "10 minutes")
        // With `keep`, the round robin would be a coalesce.
        lastPlan(query(df.repartition(8)))(AddData(stream, 1 -> at("10:30")), ProcessAllAvailable())
      }
      withSQLConf("spark.tidemark.order" -> "spark")(checkAdditions(last, additions))
    }

  /** Compares the text of a plan with that of stock Spark.
    *
    * @param additions How many nodes count late rows. All others are stock Spark's, in its order.
    * @return The text without these nodes.
    */
  private def checkAdditions(plan: => SparkPlan, additions: Int): String = {
    def text = normalized(plan)
    // The watermarks differ too: each operator has that of its own input. An aggregation's node also has the time of the
    // next due window, and the operator of the watermark does not split generated code.
    val (counting, others) = text.linesIterator.toSeq.partition(_.matches(".*(OperatorInput|LateRowsMetrics) .*"))
    assert(counting.size === additions)
    val ours = others.mkString("\n")
    def nodes(plan: String) = plan
      .replaceAll("(Some\\()?\\d{13}\\)?", "MILLIS")
      .replaceAll("\\*\\(\\d+\\) ", "")
      .replaceAll(", (no|next) window due .*", "")
      .replaceAll("(?m)^[ :+-]+", "")
      .trim
    assert(nodes(ours) === nodes(stock(text)))
    ours
  }

  private def check(name: String, plan: SparkPlan): Unit = {
    val actual = normalized(plan)
    if (isWriting) {
      Files.createDirectories(folder)
      Files.writeString(folder.resolve(s"$name.txt"), actual)
    }
    assert(actual === Files.readString(folder.resolve(s"$name.txt")))
    ()
  }

  private def folder: Path = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/golden")

  /** Removes what differs in every run: expression ids are counted from 1, and paths, ids and hashes are replaced. */
  private def normalized(plan: SparkPlan): String = {
    val ids = collection.mutable.HashMap.empty[String, Int]
    val text = plan.treeString(verbose = true, addSuffix = false)
    val numbered = "#\\d+".r.replaceAllIn(text, id => s"#${ids.getOrElseUpdate(id.matched, ids.size + 1)}")
    numbered
      .replaceAll("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID")
      .replaceAll("checkpoint = [^,]*", "checkpoint = PATH")
      .replaceAll("plan_id=\\d+", "plan_id=N")
      .replaceAll("@[0-9a-f]+", "@HASH")
      .replaceAll("(?m)[ \\t]+$", "") + "\n"
  }
}
