package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{CoalesceExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{OrderSettings, SeenRows}

/** `spark.tidemark.order=keep`, and a change of that setting between runs. */
class OrderSettingsSuite extends OrderSettings {
  import testImplicits._

  /** How many rows of one id and one task of the source came after one that had been read later. */
  private def exchanged: Int =
    SeenRows.byId.values.map { times =>
      val read = times.map(time => ((time.getTime - millis("10:00")) / 1000L).toInt)
      read.groupBy(_ % Lanes).values.map(of => of.zip(of.drop(1)).count { case (a, b) => a > b }).sum
    }.sum

  private def run(query: DataFrame => DataFrame): (SparkPlan, Seq[String]) = {
    val stream = MemoryStream[(Int, Timestamp)](Lanes)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "1 hour")
    var found: Option[(SparkPlan, Seq[String])] = None
    testStream(query(df))(
      AddData(stream, inTurn: _*),
      ProcessAllAvailable(),
      Execute(query => found = Some(query.lastExecution.executedPlan -> explained(query))),
      StopStream)
    assert(SeenRows.all.size === inTurn.size)
    found.get
  }

  private def coalesced(plan: SparkPlan): Option[Int] = plan.collectFirst { case coalesce: CoalesceExec =>
    coalesce.numPartitions
  }

  test("with keep, a function reads the rows of each group and task as they were read, although sorts spill") {
    run(counted)
    assert(exchanged > 0)
    withOrder("keep") {
      val (_, orders) = run(counted)
      assert(exchanged === 0)
      assert(orders === Seq(
        "each group as each task has read them from the source, lost in part at source: 3 tasks read it side by side"))
    }
  }

  test("with keep, a round robin in front of a function becomes a coalesce") {
    def query(df: DataFrame) = counted(df.repartition(8).filter($"id" >= 0))
    val (stock, _) = run(query)
    assert(exchanged > 0 && coalesced(stock).isEmpty)
    withOrder("keep") {
      val (plan, _) = run(query)
      assert(exchanged === 0)
      assert(coalesced(plan) === Some(8))
    }
  }

  test("with keep, the plan names what cannot be kept") {
    withOrder("keep") {
      val (_, orders) = run(df => counted(df.repartition(3, minute($"t"))))
      assert(orders === Seq("none, lost at shuffle by minute(t): rows of a group went through several tasks"))
    }
  }

  test("a query without an order below it keeps its plan") {
    def nodes(plan: SparkPlan) = plan.collect { case node => node.nodeName }
    val (plan, orders) = run(df => counted(df.repartition(8)))
    val stockPlan = stock(run(df => counted(df.repartition(8)))._1)
    assert(orders.isEmpty)
    assert(nodes(plan).filterNot(_ == "LateRowsMetrics") === nodes(stockPlan))
  }

  for ((before, after) <- Seq("event_time" -> "spark", "spark" -> "event_time", "keep" -> "event_time"))
    test(s"a query is not continued with $after if it has begun with $before") {
      val (stream, df) = timed("t", "10 minutes")
      withTempDir { checkpoint =>
        def start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
        withOrder(before) {
          testStream(counted(df))(start, AddData(stream, 1 -> at("10:00")), ProcessAllAvailable(), StopStream)
        }
        withOrder(after) {
          testStream(counted(df))(
            start,
            AddData(stream, 1 -> at("10:30")),
            expectRefusal("ORDER_SETTING_CHANGED", "setting" -> after))
        }
        withOrder(before) {
          testStream(counted(df))(start, AddData(stream, 1 -> at("10:30")), ProcessAllAvailable(), StopStream)
        }
      }
    }

  test("a query continues with keep if it has begun without") {
    val (stream, df) = timed("t", "10 minutes")
    withTempDir { checkpoint =>
      for (order <- Seq("spark", "keep", "spark"))
        withOrder(order) {
          testStream(counted(df))(
            StartStream(checkpointLocation = checkpoint.getCanonicalPath),
            AddData(stream, 1 -> at("10:00")),
            ProcessAllAvailable(),
            StopStream)
          assert(SeenRows.all === Seq(1 -> at("10:00")))
        }
    }
  }
}
