package org.apache.spark.sql.tidemark.report

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.tidemark.support.{NotedReportTest, ReasonTest}

/** What a report says of an input whose clocks are the marks of its writers. */
class NotedReportSuite extends NotedReportTest with ReasonTest {
  import testImplicits._

  private def origin(check: JsonNode => Unit): StreamAction = report(all => check(all.get("inputs").get(0)))

  test("the report has the time window, and what the next mark of the writer behind waits for") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute { _ =>
          log.note("eu", millis("10:05"), number(0))
          log.note("eu", millis("10:20"), number(1))
          log.note("us", millis("10:00"), number(0))
          log.note("us", millis("10:10"), number(7))
          log.note("uk", millis("09:00"), number(0))
          log.add("uk", s""""k":"end","at":1,"p":${number(0)}""")
        },
        AddData(stream, ("a", at("10:05"))),
        triggers(3),
        origin { origin =>
          val noted = origin.get("noted")
          assert(noted.get("location").asText === log.location)
          // A trigger without rows compares what the one before has begun to read.
          assert(Seq(1000L, 2000L, 3000L).contains(noted.get("log_read_ms").asLong), noted)
          assert(noted.get("lower_ms").asLong === millis("10:00"))
          assert(noted.get("upper_ms").asLong === millis("10:20"))
          assert(noted.get("ended").asInt === 1)
          assert(noted.get("promises_broken").get("rows").asLong === 0)
          val us = origin.get("splits").get("worst").get(0)
          assert(us.get("name").asText === "us")
          assert((us.get("mark").get("epoch").asLong, us.get("mark").get("number").asLong) === (1L, 0L))
          assert(us.get("mark").get("last_news_ms").isIntegralNumber && us.get("holds_since_ms").isIntegralNumber)
          val next = us.get("next")
          assert(next.get("time_ms").asLong === millis("10:10"))
          assert(next.get("waits_for").asText === "the source's number")
          assert((next.get("at").asLong, next.get("read").asLong) === (7L, 0L))
          assert(!next.get("is_broken").asBoolean && next.get("far_ahead_ms").isNull)
          assert(origin.get("splits").get("idle_ones").get(0).get("has_ended").asBoolean)
        },
        report(all => assert(codes(all) === Nil)),
        // Ten seconds later nothing has come.
        triggers(12),
        report { all =>
          assert(codes(all) === Seq("MARK_PAST_END", "MARK_PAST_END"))
          val parameters = all.get("hints").elements.asScala.map(_.get("parameters")).toSeq
          assert(parameters.map(_.get("writer").asText).toSet === Set("eu", "us"))
          assert(parameters.map(_.get("position").asText).toSet ===
            Set("the source's number at 1 (read: 0)", "the source's number at 7 (read: 0)"))
        },
        // The rows that one of them waits for arrive.
        AddData(stream, ("b", at("10:06"))),
        triggers(14),
        report { all =>
          assert(codes(all) === Seq("MARK_PAST_END"))
          assert(all.get("hints").get(0).get("parameters").get("writer").asText === "us")
        })
    }
  }

  private def why(code: String, held: String*): StreamAction = report { all =>
    assert(all.get("why").get("code").asText === code, all.get("why"))
    held.foreach(part => assert(all.get("why").get("sentence").asText.contains(part)))
  }

  test("the reason why nothing comes out names the log without writers, and a writer whose mark is not passed") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        why("NO_MARKS", "waits for \"time\", and no writer has noted a time in"),
        Execute(_ => log.alive("us")),
        AddData(stream, ("a", at("10:06"))),
        triggers(2),
        why("HELD_BY_SPLIT", "whose writer \"us\" has noted no time yet"),
        Execute { _ =>
          log.note("us", millis("10:04"), number(0))
          log.note("us", millis("10:20"), number(9))
        },
        AddData(stream, ("a", at("10:07"))),
        triggers(3),
        why("FLOWING"),
        triggers(12),
        why("HELD_BY_MARK", "whose writer \"us\" holds it", "waits for the source's number at 9"),
        Execute { query =>
          val lines = PlanWatermarks.of(query.lastExecution.executedPlan).linesIterator.toSeq
          assert(lines.head.contains("whose writer \"us\" holds it") && lines.head.contains(" Fix this by "))
          assert(!lines.last.contains("held back by writer"))
        })
    }
  }

  test("what a batch leaves behind knows what a mark waits for, as the report does") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute { _ =>
          log.note("eu", millis("10:20"), number(0))
          log.note("us", millis("10:00"), number(0))
          log.note("us", millis("10:10"), number(7))
        },
        AddData(stream, ("a", at("10:05"))),
        triggers(3),
        AddData(stream, ("a", at("10:08"))),
        triggers(2),
        why("HELD_BY_SPLIT", "waits for the source's number at 7"),
        kept { reason =>
          assert(reason.code === "HELD_BY_SPLIT" && reason.fix.isEmpty)
          assert(reason.sentence.contains("waits for the source's number at 7"), reason)
        })
    }
  }

  test("a report names no next window before there is a watermark") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        report(all => assert(all.findValues("next_due_ms").isEmpty)),
        Execute(_ => log.note("eu", millis("10:05"), number(0))),
        until(watermarksOf(_).view.get.snapshot.decision.origins.values.head.millis.nonEmpty),
        // The window of the row is in state.
        report(all => assert(all.findValue("next_due_ms").asLong === millis("10:10"))),
        AddData(stream, ("b", at("10:06"))),
        triggers(1),
        report(all => assert(all.findValue("next_due_ms").asLong === millis("10:10"))))
    }
  }

  test("a row that breaks a promise is counted for its input, in the report and in the progress") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("a", at("10:05")), ("b", at("10:15"))),
        triggers(3),
        CheckNewAnswer(1L),
        AddData(stream, ("false", at("10:01")), ("false", at("09:59")), ("c", at("10:16"))),
        triggers(2),
        origin { origin =>
          val broken = origin.get("noted").get("promises_broken")
          assert(broken.get("rows").asLong === 2)
          // The window of the earlier one has ended at 10:00.
          assert(broken.get("most_ms").asLong === 600000)
        },
        Execute { query =>
          val progress = query.recentProgress.filter(_.numInputRows > 0).last.observedMetrics.get("tidemark")
          assert(progress.getAs[Long]("promises_broken") === 2)
          assert(progress.getAs[Long]("promises_broken_time") === 2)
          assert(progress.getAs[Long]("late_rows") === 2)
        })
    }
  }

  test("a union of noted and guessed times proves no promise broken, one of two noted times does") {
    withLog { log =>
      val (stream, df) = input(log)
      val (other, guessed) = timed("time", "0 seconds")
      run(counted(df.select("time").union(guessed.select("time")), "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("a", at("10:05"))),
        AddData(other, 1 -> at("10:30")),
        triggers(3),
        AddData(other, 2 -> at("10:01")),
        triggers(2),
        origin(origin => assert(origin.get("noted").get("promises_broken").isNull)))
    }
    withLog { log =>
      val ((left, first), (right, second)) = (input(log), input(log))
      run(counted(first.union(second), "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(left, ("a", at("10:05"))),
        AddData(right, ("b", at("10:15"))),
        triggers(3),
        AddData(right, ("false", at("10:01"))),
        triggers(2),
        // Whose row it was is unknown.
        report { all =>
          for (origin <- all.get("inputs").elements.asScala)
            assert(origin.get("noted").get("promises_broken").get("rows").asLong === 1)
        })
    }
  }
}
