package org.apache.spark.sql.tidemark.ui

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.tidemark.status.RunReport
import org.apache.spark.status.ElementTrackingStore
import org.apache.spark.util.JsonProtocol
import org.apache.spark.util.kvstore.InMemoryStore

/** Reports in Spark's event log: how many, and what the History Server reads of them. */
class EventLogSuite extends AnyFunSuite {
  private val Day = 24 * 3600 * 1000L

  private def event(run: UUID, millis: Long, hasEnded: Boolean = false, report: String = "{}", version: Int = 1) =
    ReportEvent(version, run.toString, run.toString, millis, hasEnded, report)

  private def replayed(conf: SparkConf)(events: SparkListenerEvent*): LoggedReports = {
    val store = new ElementTrackingStore(new InMemoryStore, conf)
    val listeners = new EventTimeHistoryPlugin().createListeners(conf, store)
    assert(listeners.size === 1)
    for (event <- events; listener <- listeners) listener.asInstanceOf[SparkListener].onOtherEvent(event)
    store.close(false)
    new LoggedReports(store)
  }

  test("an event is the same after the event log, and more fields are ignored") {
    val before = event(UUID.randomUUID(), 7, hasEnded = true, "{\"query\": \"</script>\\u0000\"}")
    val text = JsonProtocol.sparkEventToJsonString(before)
    assert(JsonProtocol.sparkEventFromJson(text) === before)
    assert(JsonProtocol.sparkEventFromJson(text.replaceFirst("\\{", "{\"later\": [1, {}], ")) === before)
  }

  test("the last report of each run is kept, and a running one comes last") {
    val (firstRun, secondRun, thirdRun) = (UUID.randomUUID(), UUID.randomUUID(), UUID.randomUUID())
    val reports = replayed(new SparkConf(false))(
      event(firstRun, 1, report = "{\"batch\": 0}"),
      event(secondRun, 2),
      event(firstRun, 3, report = "{\"batch\": 1}"),
      event(thirdRun, 4, hasEnded = true),
      event(UUID.randomUUID(), 5, version = ReportEvent.Version + 1))
    assert(reports.all.map(_.runId) === Seq(thirdRun, secondRun, firstRun))
    assert(reports.of(firstRun) === Some(RunReport(firstRun, firstRun, hasEnded = false, "{\"batch\": 1}", Some(3))))
    assert(reports.of(UUID.randomUUID()) === None)
  }

  test("the runs that ended first are forgotten, beyond the number that Spark keeps") {
    val conf = new SparkConf(false).set("spark.sql.streaming.ui.retainedQueries", "2")
    val runs = Seq.fill(5)(UUID.randomUUID())
    val events = event(runs.head, 0) +: runs.tail.zipWithIndex.map { case (run, at) =>
      event(run, at + 1L, hasEnded = true)
    }
    val reports = replayed(conf)(events: _*)
    assert(reports.all.size <= 3)
    assert(reports.of(runs.head).nonEmpty)
    assert(reports.of(runs.last).nonEmpty)
  }

  for (chars <- Seq(2000, 40000, 460000))
    test(s"reports of $chars characters are at most 10 MB on the first day, and soon there") {
      val pace = new LogPace(0)
      // A batch ends every second.
      val logged = (0L until Day by 1000L).filter { now =>
        val isDue = pace.isDue(now)
        if (isDue) pace.logged(now, chars)
        isDue
      }
      assert(logged.take(4) === Seq(0L, 10000L, 20000L, 40000L))
      assert(logged.size.toLong * chars < 10000000L)
      assert(logged.zip(logged.tail).forall { case (a, b) => b - a >= 10000 })
    }
}
