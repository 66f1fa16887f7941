package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import scala.util.Random

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{CoalesceExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.tidemark.support.{OrderTest, SeenRows}

/** `spark.tidemark.order` and `spark.tidemark.requireOrder`. Sorts spill after a few rows. */
class OrderSettingsSuite extends OrderTest {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD, 20)

  private val byId = OrderOptions(by = Seq($"id"))
  private val Lanes = 3

  private def withOrder(order: String)(body: => Unit): Unit = withSQLConf("spark.tidemark.order" -> order)(body)

  /** Rows that are read by three tasks in turn, each later than the one before. */
  private val inTurn: Seq[(Int, Timestamp)] = {
    val random = new Random(3)
    (0 until 600).map(n => random.nextInt(4) -> new Timestamp(millis("10:00") + n * 1000L))
  }

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

  private def coalesced(plan: SparkPlan): Option[Int] = plan.collectFirst { case one: CoalesceExec =>
    one.numPartitions
  }

  test("with keep, a function reads the rows of each group and task as they were read, although sorts spill") {
    run(counted)
    assert(exchanged > 0)
    withOrder("keep") {
      val (_, said) = run(counted)
      assert(exchanged === 0)
      assert(said === Seq(
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
      val (_, said) = run(df => counted(df.repartition(3, minute($"t"))))
      assert(said === Seq("none, lost at shuffle by minute(t): rows of a group went through several tasks"))
    }
  }

  test("with event_time, a query is refused if Spark makes two of an operator that needs an order") {
    def times(name: String) = {
      val (stream, df) = timed(s"t_$name", "1 hour")
      stream -> df.withColumnRenamed("id", s"id_$name")
    }
    val ((first, a), (_, b), (_, c)) = (times("a"), times("b"), times("c"))
    val near = expr("id_a = id_c AND t_c BETWEEN t_a - INTERVAL 1 MINUTE AND t_a + INTERVAL 1 MINUTE")
    val joined = a.union(b).join(c.dropDuplicates("id_c"), near, "left_semi")
    withOrder("event_time") {
      testStream(joined)(
        AddData(first, 1 -> at("10:00")),
        expectRefusal(
          "ORDER_NOT_ADDED",
          "setting" -> "event_time",
          "reason" ->
            ("of 1 functions of groups and deduplications Spark has made 2, as where it moves a semi join below a " +
              "union")))
    }
  }

  test("with event_time, an input with two columns of one name is refused") {
    val (stream, df) = timed("t", "10 minutes")
    val static = Seq(1 -> "a").toDF("id", "name")
    val joined = df.join(broadcast(static), df("id") === static("id")).dropDuplicates("name").select("name")
    withOrder("event_time") {
      testStream(joined)(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal(
          "ORDER_NOT_ADDED",
          "reason" -> "the input of an operator has several columns named 'id', which a restart could not tell apart"))
    }
  }

  test("with event_time, operators in common table expressions get an order, once for each place that names one") {
    withOrder("event_time") {
      for ((query, orders) <- Seq(
          "WITH f AS (SELECT * FROM firsts) SELECT * FROM f" -> 1,
          "WITH f AS (SELECT * FROM firsts) SELECT * FROM f UNION ALL SELECT * FROM f" -> 2)) {
        val (stream, df) = timed("t", "1 minute")
        df.dropDuplicates("id").createOrReplaceTempView("firsts")
        testStream(sql(query))(
          AddData(stream, 1 -> at("10:05"), 1 -> at("10:03"), 2 -> at("10:10")),
          ProcessAllAvailable(),
          Execute { query =>
            assert(query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size === orders, query)
          },
          CheckAnswer(Seq.fill(orders)(1 -> at("10:03")): _*))
      }
    }
  }

  test("a query without an order below it keeps its plan") {
    def nodes(plan: SparkPlan) = plan.collect { case node => node.nodeName }
    val (plan, said) = run(df => counted(df.repartition(8)))
    val stockPlan = stock(run(df => counted(df.repartition(8)))._1)
    assert(said.isEmpty)
    assert(nodes(plan).filterNot(_ == "LateRowsMetrics") === nodes(stockPlan))
  }

  private def shuffledRows: Seq[(Int, Timestamp)] = new Random(5).shuffle(inTurn)

  test("with event_time, a function reads each group by time over batches, and a user's own order is left alone") {
    def seenIn(query: DataFrame => DataFrame): Int = {
      val stream = MemoryStream[(Int, Timestamp)](Lanes)
      var held = 0
      testStream(query(stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes")))(
        (shuffledRows.grouped(200).flatMap(rows => Seq(AddData(stream, rows: _*), ProcessAllAvailable())) ++ Seq(
          AddData(stream, 9 -> at("23:00")),
          ProcessAllAvailable(),
          Execute(query => held = query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size),
          StopStream)).toSeq: _*)
      assert(SeenRows.all.size === inTurn.size)
      held
    }
    withOrder("event_time") {
      assert(seenIn(counted) === 1)
      assert(SeenRows.byId.values.forall(isSorted))
      assert(seenIn(df => counted(inOrder(df, "t", OrderOptions(by = Seq(minute($"t")))))) === 1)
      assert(SeenRows.byId.values.forall(isSorted))
    }
    assert(seenIn(df => counted(df.where("t < '2024-03-01 22:00:00'"))) === 0)
    assert(!SeenRows.byId.values.forall(isSorted))
  }

  test("with event_time, deduplications keep the first row by time") {
    withOrder("event_time") {
      val rows = Seq(1 -> at("10:05"), 2 -> at("10:03"), 1 -> at("10:01"), 2 -> at("10:02"))
      def emitted(query: DataFrame => DataFrame)(expected: (Int, Timestamp)*) = {
        val (stream, df) = timed("t", "10 minutes")
        testStream(query(df))(
          AddData(stream, rows: _*),
          ProcessAllAvailable(),
          AddData(stream, 9 -> at("11:00")),
          ProcessAllAvailable(),
          CheckNewAnswer(expected.head, expected.tail: _*),
          StopStream)
      }
      emitted(_.dropDuplicates("id"))(1 -> at("10:01"), 2 -> at("10:02"))
      emitted(_.dropDuplicatesWithinWatermark("id"))(1 -> at("10:01"), 2 -> at("10:02"))
      // Of rows with the same time, none is the first, so they need not wait.
      val (stream, df) = timed("t", "10 minutes")
      testStream(df.dropDuplicates("id", "t"))(
        AddData(stream, rows: _*),
        ProcessAllAvailable(),
        CheckNewAnswer(rows.head, rows.tail: _*),
        StopStream)
    }
  }

  test("with event_time, an order is in the plan of every batch, also if an input of a union has no rows") {
    withOrder("event_time") {
      val (first, a) = timed("t", "10 minutes")
      val second = MemoryStream[(Int, Timestamp)]
      val unordered = second.toDF().toDF("id", "t")
      val rows = inOrder(a, "t", byId).union(unordered).dropDuplicates("id").dropDuplicates("id")
      def holds(count: Int) = Execute(query =>
        assert(query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size === count))
      testStream(rows)(
        AddData(first, 1 -> at("10:05"), 1 -> at("10:01")),
        ProcessAllAvailable(),
        holds(2),
        MultiAddData(first, 2 -> at("10:30"))(second, 3 -> at("10:02")),
        ProcessAllAvailable(),
        holds(2),
        AddData(first, 9 -> at("11:00")),
        ProcessAllAvailable(),
        CheckNewAnswer(1 -> at("10:01"), 2 -> at("10:30"), 3 -> at("10:02")))
    }
  }

  private def assertLost(query: DataFrame => DataFrame, tasks: Int = 1)(parameters: (String, String)*): Unit = {
    val stream = MemoryStream[(Int, Timestamp)](tasks)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
    testStream(query(df))(
      AddData(stream, Seq.fill(tasks)(1 -> at("10:00")): _*),
      expectRefusal("ORDER_LOST", parameters: _*))
  }

  test("with requireOrder, a query that has lost its order is refused by the names of operator and loss") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      assertLost(counted)(
        "operator" -> "flatMapGroupsWithState",
        "at" -> "sort by value",
        "why" -> "Spark's sort may exchange rows of a group")
      assertLost(df => inOrder(df, "t", byId).union(df).dropDuplicates("id"))(
        "operator" -> "dropDuplicates",
        "at" -> "union")
      assertLost(df => counted(inOrder(df, "t", byId.copy(dropsLate = false))))("why" -> "late rows are passed on")
    }
  }

  test("with requireOrder, rows that several tasks have read are in no known order, kept or not") {
    withSQLConf("spark.tidemark.requireOrder" -> "true", "spark.tidemark.order" -> "keep") {
      for (query <- Seq[DataFrame => DataFrame](counted, _.dropDuplicates("id"), _.limit(5)))
        assertLost(query, tasks = 3)("at" -> "source", "why" -> "3 tasks read it side by side")
    }
  }

  test("with requireOrder, an order within each batch is refused") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      for (query <- Seq[DataFrame => DataFrame](counted, _.dropDuplicates("id")))
        assertLost(df => query(inOrder(df, "t", byId.copy(waits = false))))(
          "at" -> "in order",
          "why" -> "it sorts each batch by itself, so a later batch may have earlier rows")
    }
  }

  test("with requireOrder, a query runs if its order is known, and also if it needs none") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      def runs(query: DataFrame => DataFrame, tasks: Int = 1) = {
        val stream = MemoryStream[(Int, Timestamp)](tasks)
        val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
        testStream(query(df))(
          AddData(stream, Seq.fill(tasks)(1 -> at("10:00")): _*),
          ProcessAllAvailable(),
          StopStream)
      }
      runs(df => counted(inOrder(df, "t", byId)), tasks = 3)
      runs(_.groupBy(window($"t", "10 minutes")).count(), tasks = 3)
      // Functions of partitions and sinks see what their task sees.
      runs(seen, tasks = 3)
      runs(df => seen(inOrder(df, "t", byId.copy(waits = false))), tasks = 3)
      // One task has read all rows.
      runs(_.dropDuplicates("id"))
      withOrder("keep")(runs(counted))
      withOrder("event_time")(runs(counted))
    }
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
