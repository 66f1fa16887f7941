package org.apache.spark.sql.tidemark.exec.eviction

import scala.jdk.CollectionConverters._

import io.tidemark.TidemarkConf

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.support.{BatchRun, StockComparison}
import org.apache.spark.sql.tidemark.support.Histories._

/** Expired state may stay until a share of what is kept has expired, where no row can tell. */
class EvictionSlackSuite extends StockComparison {
  import testImplicits._

  private val begin = Noon.getEpochSecond
  private val minute = 60L

  /** Many ids over the last ten minutes, then a few rows a minute: old ids, new ones, some on time and some late. */
  private def steady(ids: Int): History = {
    val first = Seq.tabulate(ids)(id => (id, Option(begin + id % 600)))
    val later = Seq.tabulate(6) { step =>
      val now = begin + (10 + step) * minute
      Seq.tabulate(60) { n =>
        val old = n * 7 % 600
        if (n % 3 == 0) (n, Option(begin + old)) else (ids + n % 30, Option(now + n % 60))
      }
    }
    (first +: later) ++ Seq(Seq((-1, Option(begin + 600 * minute))), Seq((-2, Option(begin + 700 * minute))))
  }

  private def rowsOfBatches(batches: Seq[BatchRun]): Seq[Seq[String]] = batches.filterNot(_.didNothing).map(_.rows)

  /** The average of event times has other rounding, as the engines add them up in another order. */
  private def exact(batches: Seq[BatchRun]) = batches.map(b => b.copy(eventTime = b.eventTime - "avg"))

  private def evictions(batches: Seq[BatchRun]): Int = batches.count(_.operators.exists(_.removed > 0))

  private def withSlack[A](share: String)(body: => A): A = {
    var result = Option.empty[A]
    withSQLConf("spark.tidemark.evictionSlack" -> share) { result = Some(body) }
    result.get
  }

  private def distinct(events: DataFrame): DataFrame = events.dropDuplicates("id", "t")

  private def joinedOf(left: MemoryStream[Event], right: MemoryStream[Event]): DataFrame = {
    val a = timed(left).toDF("a", "ta").withWatermark("ta", "1 minute")
    val b = timed(right).toDF("b", "tb").withWatermark("tb", "1 minute")
    a.join(b, expr("a = b AND tb BETWEEN ta - INTERVAL 5 MINUTES AND ta + INTERVAL 5 MINUTES"))
  }

  /** Runs a query, and compares the scans that its plans, its progress and its report say were skipped.
    * @return the plans, and how many scans of each input were skipped by the report
    */
  private def skippedScans(query: DataFrame, streams: MemoryStream[Event]*): (Seq[String], Seq[Long]) = {
    var plans = Seq.empty[String]
    var reported = Seq.empty[Long]
    val steps = steady(20000).flatMap { events =>
      streams.map(AddData(_, events: _*)) ++ Seq(
        ProcessAllAvailable(),
        Execute { (running: StreamExecution) => plans = plans :+ running.lastExecution.executedPlan.toString })
    }
    val last = Execute { (running: StreamExecution) =>
      val report = new ObjectMapper().readTree(RunningQueries.report(running.runId, Report.json).get)
      reported = report.findValues("skipped_scans").asScala.map(_.asLong).toSeq
      val counted = running.recentProgress.groupBy(_.batchId).values.map { batch =>
        batch.flatMap(_.stateOperators).map(_.customMetrics.getOrDefault(SkipsScans.Metric, 0L).toLong).max
      }
      assert(counted.sum === reported.sum)
    }
    testStream(query)(steps :+ last: _*)
    (plans, reported)
  }

  test("a deduplication that leaves expired keys in state says so in the plan, a metric and the report") {
    val stream = MemoryStream[Event]
    val (plans, skipped) = skippedScans(distinct(timed(stream).withWatermark("t", Delay)), stream)
    assert(plans.exists(_.contains("eviction waits")) && plans.exists(!_.contains("eviction waits")))
    assert(skipped.size === 1 && skipped.head > 1)
  }

  testMore("an inner join that leaves expired rows in state says so in the plan, a metric and the report") {
    val (left, right) = (MemoryStream[Event], MemoryStream[Event])
    val (plans, skipped) = withSlack("0.5")(skippedScans(joinedOf(left, right), left, right))
    assert(plans.exists(_.contains("eviction waits")) && plans.exists(!_.contains("eviction waits")))
    // One number for each side.
    assert(skipped.size === 2 && skipped.forall(_ > 1))
  }

  test("a deduplication with much state evicts less often than stock Spark, and emits the same rows") {
    val ours = run("append", steady(20000), distinct)
    val theirs = stock(run("append", steady(20000), distinct))
    assert(rowsOfBatches(ours).filter(_.nonEmpty) === rowsOfBatches(theirs).filter(_.nonEmpty))
    assert(ours.map(_.operators.head.late).sum === theirs.map(_.operators.head.late).sum)
    assert(evictions(ours) < evictions(theirs) - 1)
    // The end of event time evicts all that came before.
    assert(ours.last.operators.head.rows === theirs.last.operators.head.rows)
    val most = ours.map(_.operators.head.rows).max
    assert(most <= theirs.map(_.operators.head.rows).max * 1.15)
  }

  testMore("a deduplication with little state evicts as stock Spark does") {
    val history = steady(1000)
    assertSameBatches(exact(run("append", history, distinct)), exact(stock(run("append", history, distinct))))
  }

  testMore("with a share of 0 each batch evicts, as in stock Spark") {
    val history = steady(20000)
    withSlack("0") {
      assertSameBatches(exact(run("append", history, distinct)), exact(stock(run("append", history, distinct))))
    }
  }

  for (format <- Seq(1, 2, 3))
    testMore(s"an inner join with much state evicts less often, and emits the same rows, in state format $format") {
      def joined: Seq[BatchRun] = {
        val (left, right) = (MemoryStream[Event], MemoryStream[Event])
        val steps = steady(20000).map(events =>
          () => {
            left.addData(events)
            right.addData(events.map { case (id, time) => (id, time.map(_ + 60)) })
            ()
          })
        record("append", joinedOf(left, right), steps)
      }
      val conf = Seq(SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION.key -> format.toString) ++
        (if (format < 3) Nil
         else
           Seq(
             SQLConf.STATE_STORE_PROVIDER_CLASS.key ->
               classOf[org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider].getName))
      withSQLConf(conf: _*) {
        // A minute is more than an eighth of the seven for which rows stay.
        val (patient, eager) = (withSlack("0.5")(joined), withSlack("0")(joined))
        assert(rowsOfBatches(patient).filter(_.nonEmpty) === rowsOfBatches(eager).filter(_.nonEmpty))
        assert(patient.map(_.id) === eager.map(_.id))
        assert(evictions(patient) < evictions(eager) - 1)
        assert(patient.last.operators.head.rows === eager.last.operators.head.rows)
      }
    }

  testMore("a deduplication that waits may go to stock Spark and come back, and its share may change at a restart") {
    val history = steady(20000)
    val (begin, rest) = history.splitAt(3)
    val (onStock, onTidemark) = rest.splitAt(2)
    val parts = Seq(
      (Nil, begin),
      (Seq("spark.tidemark.enabled" -> "false"), onStock),
      (Seq("spark.tidemark.evictionSlack" -> "0.5"), onTidemark.take(1)),
      (Nil, onTidemark.drop(1)))
    val found = recordRuns(parts.map { case (conf, steps) => (conf, steps, distinct _) }: _*)
    val expected = stock(recordRuns(parts.map { case (_, steps) => (Nil, steps, distinct _) }: _*))
    assert(rowsOfBatches(found).filter(_.nonEmpty) === rowsOfBatches(expected).filter(_.nonEmpty))
    assert(found.map(_.operators.head.late).sum === expected.map(_.operators.head.late).sum)
    assert(found.last.operators.head.rows === expected.last.operators.head.rows)
    // What had waited is evicted by stock Spark.
    assert(evictions(found) > 1 && evictions(found) < evictions(expected))
  }

  test("a query does not start with a share that is not from 0 to 1") {
    val stream = MemoryStream[Event]
    stream.addData(steady(1).head)
    withSlack("1.1") {
      assertQueryRefused("INVALID_SETTING", "setting" -> "spark.tidemark.evictionSlack", "value" -> "1.1") {
        record("append", distinct(timed(stream).withWatermark("t", Delay)), Nil)
      }
    }
  }

  test("operators that wait can be copied and canonicalized, as Spark does with any") {
    var plans = Seq.empty[SparkPlan]
    val stream = MemoryStream[Event]
    testStream(distinct(timed(stream).withWatermark("t", Delay)))(
      steady(20000).flatMap(events =>
        Seq(
          AddData(stream, events: _*),
          ProcessAllAvailable(),
          Execute { query => plans = plans :+ query.lastExecution.executedPlan })): _*)
    val waiting = plans.filter(_.exists(_.isInstanceOf[DeferredDeduplicateExec]))
    assert(waiting.nonEmpty)
    for (plan <- waiting) assert(plan.canonicalized != null && plan.clone() == plan)
  }

  test("a share that is not from 0 to 1 is refused by the name of the setting") {
    for (share <- Seq("-0.1", "1.1", "NaN", "much"))
      withSlack(share) {
        assertRefused("INVALID_SETTING", "setting" -> "spark.tidemark.evictionSlack", "value" -> share) {
          TidemarkConf.EvictionSlack.get(key => Option(spark.conf.get(key)))
        }
      }
    assert(Seq("0", "1", "0.5").map(TidemarkConf.EvictionSlack.read) === Seq(Some(0.0), Some(1.0), Some(0.5)))
  }
}
