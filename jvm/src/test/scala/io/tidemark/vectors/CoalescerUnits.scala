package io.tidemark.vectors

import scala.jdk.CollectionConverters._

import io.tidemark.core.splits.{Coalescer, OnReturn}
import io.tidemark.core.support.{KeyedCoalescer, MessageCoalescer}

import com.fasterxml.jackson.databind.JsonNode

/** One step, in either way in which the file writes it: an object, or an array that ends with the answers. */
final case class Step(
    op: String,
    input: Int,
    key: Option[Long],
    value: Option[Long],
    out: Seq[JsonNode],
    fields: Fields)

object Step {

  def of(json: JsonNode): Step = {
    val fields = new Fields(json)
    fields.ignore("asserted_idle")
    Step(
      fields.text("op"),
      fields.optional("q").fold(-1)(_.asInt),
      fields.optional("key").map(_.asLong),
      fields.optional("v").map(_.asLong),
      fields.list("out"),
      fields)
  }

  /** `[op, input, (key,) (value,) {engine: out, ...}]` */
  def ofAnswers(json: JsonNode, engine: String, keyed: Boolean): Step = {
    val parts = json.elements.asScala.toVector
    val numbers = parts.drop(2).dropRight(1).map(_.asLong)
    val isWm = parts.head.asText == "wm"
    val answers = parts.last
    if (!answers.has(engine)) throw new Unknown(s"no answer of '$engine' in $json")
    Step(
      parts.head.asText,
      parts(1).asInt,
      if (isWm && keyed) Some(numbers.head) else None,
      if (isWm) Some(numbers.last) else None,
      answers.get(engine).elements.asScala.toSeq,
      new Fields(json))
  }
}

/** The steps of a vector whose inputs are queues. */
private object Queues {

  /** @param add adds a queue
    * @param take what a step answers
    * @param keys what a probe finds, if it asks for keys
    */
  def steps(vector: Vector, steps: Seq[Step])(add: () => Unit)(take: Step => Seq[String])(
      keys: Option[() => String]): Seq[Mismatch] = {
    for (_ <- 0L until vector.number("queues", 2L)) add()
    vector.requireNothingElse()
    steps.zipWithIndex.flatMap { case (step, index) =>
      val where = s"${vector.id} step $index (${step.op})"
      if (step.op == "probe") {
        // Whether IDLE is due is said with the step that makes it so, and never again.
        val idle = step.fields.optional("idle_pending").map(_ -> "false")
        val found = keys.flatMap(of => step.fields.optional("keys").map(_ -> of()))
        step.fields.requireNothingElse(where)
        val (expected, actual) = (idle ++ found).toSeq.unzip
        Mismatch.of(where, expected.map(Out.text), actual)
      } else {
        val actual = take(step)
        if (step.fields.optional("op").nonEmpty) step.fields.requireNothingElse(where)
        Mismatch.of(where, step.out, actual)
      }
    }
  }
}

/** The coalescer as Hazelcast's class talks: a value when the watermark rises, IDLE when the last input falls silent. */
object HazelcastUnit {

  def run(vector: Vector): Seq[Mismatch] = steps(vector, vector.steps.map(Step.of))

  def runAnswers(vector: Vector): Seq[Mismatch] =
    steps(vector, vector.steps.map(Step.ofAnswers(_, "hz", keyed = false)))

  private def steps(vector: Vector, steps: Seq[Step]): Seq[Mismatch] = {
    val coalescer = new MessageCoalescer(OnReturn.Hold)
    Queues.steps(vector, steps)(() => coalescer.add(0L))(take(coalescer, _))(None)
  }

  private def take(coalescer: MessageCoalescer, step: Step): Seq[String] = {
    val (before, wasIdle) = (coalescer.watermark, coalescer.isIdle)
    val input = step.input
    val ended = coalescer.hasEnded(input)
    val error = step.op match {
      case "wm" if ended || step.value.get <= coalescer.clock(input) => Some("not-monotonic")
      case "wm" => coalescer.observe(input, step.value.get, 0L); None
      case "event" => if (!ended) coalescer.observe(input, 0L); None
      case "idle" if ended => Some("not-monotonic")
      case "idle" => coalescer.idle(input); None
      case "done" if ended => Some("duplicate-done")
      case "done" => coalescer.end(input); None
      case other => throw new Unknown(s"operation '$other'")
    }
    error.map(Out.error).toSeq ++
      Option.when(coalescer.watermark > before)(Out.wm(coalescer.watermark)) ++
      Option.when(coalescer.isIdle && !wasIdle)(Out.Idle)
  }
}

/** The keyed coalescer, talking in the same way for each key. */
object KeyedUnit {

  def run(vector: Vector): Seq[Mismatch] = steps(vector, vector.steps.map(Step.of))

  def runAnswers(vector: Vector): Seq[Mismatch] =
    steps(vector, vector.steps.map(Step.ofAnswers(_, "rule", keyed = true)))

  private def steps(vector: Vector, steps: Seq[Step]): Seq[Mismatch] = {
    val coalescer = new KeyedCoalescer[Long]
    Queues.steps(vector, steps)(() => coalescer.add(0L))(take(coalescer, _)) {
      Some(() => coalescer.keys.toSeq.sorted.mkString("[", ",", "]"))
    }
  }

  private def take(coalescer: KeyedCoalescer[Long], step: Step): Seq[String] = {
    val before = coalescer.keys.map(key => key -> coalescer.watermark(key)).toMap
    val wasIdle = coalescer.isIdle
    val ended = coalescer.hasEnded(step.input)
    val error = step.op match {
      case "wm" if ended || step.value.get <= coalescer.clock(step.input, step.key.get) => Some("not-monotonic")
      case "wm" => coalescer.observe(step.input, step.key.get, step.value.get, 0L); None
      case "event" => if (!ended) coalescer.observe(step.input, 0L); None
      case "idle" if ended => Some("not-monotonic")
      case "idle" => coalescer.idle(step.input); None
      case "done" if ended => Some("duplicate-done")
      case "done" => coalescer.end(step.input); None
      case other => throw new Unknown(s"operation '$other'")
    }
    val risen = coalescer.keys.toSeq.sorted.filter { key =>
      coalescer.watermark(key) > before.getOrElse(key, Coalescer.NoClock)
    }
    error.map(Out.error).toSeq ++
      risen.map(key => Out.keyed(key, coalescer.watermark(key))) ++
      Option.when(coalescer.isIdle && !wasIdle)(Out.Idle)
  }
}

/** The coalescer as Flink's valve talks. There an input says that it is active before it says anything else, so what an
  * idle input sends is ignored; and an ended one has got as far as time goes.
  */
object FlinkUnit {
  private val EndOfTime = Long.MaxValue - 1

  def run(vector: Vector): Seq[Mismatch] = steps(vector, vector.number("channels", 1L), vector.steps.map(Step.of))

  def runAnswers(vector: Vector): Seq[Mismatch] =
    steps(vector, vector.number("queues", 2L), vector.steps.map(Step.ofAnswers(_, "flink", keyed = false)))

  private def steps(vector: Vector, channels: Long, steps: Seq[Step]): Seq[Mismatch] = {
    val coalescer = new MessageCoalescer(OnReturn.CatchUp)
    for (_ <- 0L until channels) coalescer.add(0L)
    vector.requireNothingElse()
    steps.zipWithIndex.flatMap { case (step, index) =>
      val where = s"${vector.id} step $index (${step.op})"
      val out = Mismatch.of(where, step.out, take(coalescer, step))
      if (step.fields.optional("op").isEmpty) out.toSeq
      else {
        val states = step.fields.optional("state").toSeq.flatMap(_.properties.asScala).flatMap { state =>
          val channel = state.getKey.toInt
          val takesPart = coalescer.state(channel) == Coalescer.Active
          val actual = Seq(coalescer.clock(channel).toString, takesPart.toString)
          // null is not compared, neither a part nor the whole.
          val compared = state.getValue.elements.asScala.toSeq.zip(actual).filterNot(_._1.isNull)
          Mismatch.of(s"$where, channel $channel", compared.map(_._1), compared.map(_._2))
        }
        step.fields.requireNothingElse(where)
        out.toSeq ++ states
      }
    }
  }

  private def take(coalescer: MessageCoalescer, step: Step): Seq[String] = {
    val (before, wasIdle) = (coalescer.watermark, coalescer.isIdle)
    val input = step.input
    val isIdle = coalescer.state(input) == Coalescer.Idle
    step.op match {
      case "wm" => if (!isIdle) coalescer.observe(input, step.value.get, 0L)
      case "done" => coalescer.observe(input, EndOfTime, 0L)
      case "idle" => coalescer.idle(input)
      case "active" | "event" => if (isIdle) coalescer.observe(input, 0L)
      case other => throw new Unknown(s"operation '$other'")
    }
    val risen = Option.when(coalescer.watermark > before) {
      if (coalescer.watermark == EndOfTime) "\"MAX\"" else Out.wm(coalescer.watermark)
    }
    Option.when(wasIdle && !coalescer.isIdle)(Out.Active).toSeq ++ risen ++
      Option.when(coalescer.isIdle && !wasIdle)(Out.Idle)
  }
}
