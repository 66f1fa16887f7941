package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files

import io.tidemark.{Idle, SplitBy, TidemarkException, WatermarkOptions}

import org.apache.spark.sql.tidemark.query.BeginQuery
import org.apache.spark.sql.tidemark.support.CorrectedQuery

/** Checkpoints that cannot be corrected now, and how a query names clocks that need it. */
class CorrectionRefusalsSuite extends CorrectedQuery {
  import testImplicits._

  test("a kill after a correction changes nothing, and a batch that was begun is not corrected") {
    withTempDir { checkpoint =>
      val orders = new Orders
      val recorder = broken(checkpoint, orders)
      correct(checkpoint, s"'orders', NULL, ${to("10:30")}")
      recorder.run(windows(orders.marked(limit)))(orders.step("10:35"), orders.step("10:55"))
      val last = recorder.batches.last.id
      val before = timeless(entry(checkpoint, last))
      forget(checkpoint, "commits", last)
      assertRefused("BATCH_NOT_COMMITTED", "batch" -> last.toString)(correct(checkpoint, "'orders'"))
      recorder.run(windows(orders.marked(limit)))()
      val Seq(first, second) = recorder.runsOf(last).map(_.copy(step = 0)): @unchecked
      assert(second === first && first.rows === Seq("[10:30,1]"))
      assert(timeless(entry(checkpoint, last)) === before)
    }
  }

  test("a running query, an unknown key or split, and a folder without a log are refused by name") {
    withTempDir { checkpoint =>
      val orders = new Orders
      val recorder = new Recorder("append", checkpoint)
      var running = Option.empty[TidemarkException]
      recorder.atSink = () => running = Some(refusalOf(correct(checkpoint, "'orders'")))
      recorder.run(windows(orders.marked()))(orders.step("10:05"), orders.step("10:15"))
      assertRefusal(running.get, "QUERY_IS_RUNNING")
      def refused(code: String, parameters: (String, String)*)(arguments: String): Unit =
        assertRefused(code, parameters: _*)(correct(checkpoint, arguments))
      refused("UNKNOWN_KEY", "key" -> "order", "keys" -> "orders")("'order'")
      refused("UNKNOWN_SPLIT", "key" -> "orders", "split" -> "a", "splits" -> "")("'orders', 'a'")
      refused("WRONG_ARGUMENTS", "arguments" -> "3")("'orders', 5")
      refused("WRONG_ARGUMENTS", "arguments" -> "4")("'orders', NULL, 'noon'")
    }
    withTempDir { empty =>
      assertRefused("NO_LOG", "checkpoint" -> empty.getCanonicalPath)(correct(empty, "'orders'"))
      assert(empty.list.isEmpty)
    }
  }

  test("a query of another process that has begun a batch is not corrected, and one that begins it later stops") {
    withTempDir { checkpoint =>
      // By another path, Spark does not know that the query is its own.
      val elsewhere = new File(checkpoint, "same")
      Files.createSymbolicLink(elsewhere.toPath, checkpoint.toPath)
      def correctElsewhere() =
        spark.sql(
          s"SELECT * FROM tidemark_correct('${elsewhere.getAbsolutePath}', 'orders', NULL, ${to("10:20")})").collect()
      val orders = new Orders
      val recorder = broken(checkpoint, orders)
      val before = entry(checkpoint, recorder.batches.last.id)
      var begun = Option.empty[TidemarkException]
      recorder.atSink = () => begun = begun.orElse(Some(refusalOf(correctElsewhere())))
      recorder.run(windows(orders.marked()))(orders.step("10:32"))
      assertRefusal(begun.get, "BATCH_NOT_COMMITTED")
      assert(recorder.batches.last.id > before.batch)
      recorder.atSink = () => ()
      assertQueryRefused("ENTRY_CHANGED", "batch" -> s"${recorder.batches.last.id + 1}") {
        recorder.run(windows(orders.marked()))(() => { correctElsewhere(); orders.step("10:33")() })
      }
      val rows = newRows(recorder)(recorder.run(windows(orders.marked(limit)))(orders.step("10:55")))
      assert(rows === Seq("[10:30,1]"))
    }
  }

  test("a query that starts with max_ahead names restored clocks beyond it in the log") {
    withTempDir { checkpoint =>
      val orders =
        new Orders(WatermarkOptions(key = Some("orders"), splitBy = SplitBy($"device"), idle = Idle("1 hour")))
      val recorder = broken(checkpoint, orders)
      val log = new LogAppender
      def warnings = log.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("max_ahead"))
      withLogAppender(
        log,
        Seq(classOf[BeginQuery].getName))(recorder.run(windows(orders.marked(limit)))(orders.step("10:40")))
      assert(warnings.size === 1)
      assert(warnings.head.contains(
        "split 'a' of 'orders' is at 2099-12-31T23:50:00Z. Stop the query, and call tidemark.correct("))
      correct(checkpoint, "'orders'")
      withLogAppender(
        log,
        Seq(classOf[BeginQuery].getName))(recorder.run(windows(orders.marked(limit)))(orders.step("10:40")))
      assert(warnings.size === 1)
    }
  }
}
