package io.tidemark.vectors

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.tidemark.core.splits.Coalescer
import io.tidemark.core.support.MessageCoalescer

/** A source that gives each partition a clock, and says IDLE when no partition has had an event for a while. */
object MapperUnit {

  def run(vector: Vector): Seq[Mismatch] = {
    val mapper = mapperOf(vector)
    vector.ignore("timestamp_fn")
    val steps = vector.steps
    vector.requireNothingElse()
    steps.zipWithIndex.flatMap { case (json, index) =>
      val fields = new Fields(json)
      val op = fields.text("op")
      val where = s"${vector.id} step $index ($op)"
      val now = fields.optional("now").fold(mapper.latest)(_.asLong)
      val actual = op match {
        case "add_partitions" => mapper.add(now, fields.int("n"))
        case "remove_partition" => mapper.remove(now, fields.int("part"))
        case "restore" => mapper.restore(fields.int("part"), fields.long("wm"))
        case "no_event" => mapper.noEvent(now)
        case "event" =>
          val time = fields.long("ts")
          mapper.event(now, fields.int("part"), time, fields.optional("payload").fold(time)(_.asLong))
        case "event_no_time" =>
          // It is refused, and moves nothing; what the error is called is the other's affair.
          Seq("part", "payload").foreach(fields.ignore)
          fields.optional("out").toSeq.flatMap(_.findValues("err").asScala).take(1).map(why => Out.error(why.asText))
        case other => throw new Unknown(s"operation '$other'")
      }
      val expected = fields.list("out")
      fields.requireNothingElse(where)
      Mismatch.of(where, expected, actual)
    }
  }

  private val IdleAfter = """"IDLE after >=(\d+) ms"""".r

  /** One partition, and a list of event times. */
  def runInputs(vector: Vector): Seq[Mismatch] = {
    val mapper = mapperOf(vector)
    val (inputs, expected) = (vector.list("input"), vector.list("output"))
    vector.requireNothingElse()
    mapper.add(0L, 1)
    val events = inputs.flatMap { in =>
      if (!in.isNumber) throw new Unknown(s"input $in")
      mapper.event(0L, 0, in.asLong, in.asLong)
    }
    val idle = expected.map(Out.text).collectFirst { case IdleAfter(millis) => millis.toLong }
    val silence = idle.toSeq.flatMap { millis =>
      mapper.noEvent(millis - 1) ++ mapper.noEvent(millis).map {
        case Out.Idle => s""""IDLE after >=$millis ms""""
        case other => other
      }
    }
    Mismatch.of(vector.id, expected, events ++ silence).toSeq
  }

  private val Constant = """constant (-?\d+)""".r

  private def mapperOf(vector: Vector): Mapper = {
    val lag = vector.number("lag", 0L)
    val policy: Long => Long = vector.optional("policy").map(_.asText) match {
      case None => time => time - lag
      case Some(Constant(value)) => _ => value.toLong
      case Some(other) => throw new Unknown(s"policy '$other'")
    }
    new Mapper(policy, vector.number("idle_timeout", 0L), vector.number("frame", 1L))
  }

  private final class Mapper(policy: Long => Long, idleTimeout: Long, frame: Long) {
    private val coalescer = new MessageCoalescer
    private val partitions = mutable.ArrayBuffer.empty[Int]
    private var emitted = Coalescer.NoClock
    private var saidIdle = false
    var latest = 0L

    def add(now: Long, count: Int): Seq[String] = at(now) {
      for (_ <- 0 until count) partitions += coalescer.add(now)
      saidIdle = saidIdle && count == 0
      Nil
    }

    def remove(now: Long, partition: Int): Seq[String] = at(now) {
      coalescer.end(partitions.remove(partition))
      silence(now)
    }

    def restore(partition: Int, clock: Long): Seq[String] = {
      coalescer.observe(partitions(partition), clock, latest)
      emitted = coalescer.watermark
      Nil
    }

    def noEvent(now: Long): Seq[String] = at(now)(silence(now))

    def event(now: Long, partition: Int, time: Long, payload: Long): Seq[String] = at(now) {
      saidIdle = false
      coalescer.observe(partitions(partition), policy(time), now)
      fallSilent(now)
      // An event is never late by the watermark that it causes itself.
      rise(math.min(coalescer.watermark, time)) :+ s"""{"ev":$payload}"""
    }

    private def at(now: Long)(out: => Seq[String]): Seq[String] = { latest = now; out }

    private def silence(now: Long): Seq[String] = {
      fallSilent(now)
      val risen = rise(coalescer.watermark)
      val isIdle = coalescer.active == 0
      val idle = Option.when(isIdle && !saidIdle)(Out.Idle)
      saidIdle = isIdle
      risen ++ idle
    }

    private def fallSilent(now: Long): Unit = if (idleTimeout > 0) coalescer.idleSince(now - idleTimeout)

    private def rise(to: Long): Seq[String] = {
      // With a frame of no length no watermark is given out.
      val whole = if (to == Coalescer.NoClock || frame == 0) Coalescer.NoClock else Math.floorDiv(to, frame) * frame
      if (whole <= emitted) Nil
      else {
        emitted = whole
        Seq(s"""{"wm":$whole}""")
      }
    }
  }
}
