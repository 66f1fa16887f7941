package org.apache.spark.sql.tidemark.status

import java.time.Instant

import io.tidemark.oracle.{Memory, Oracle, Query, Row, Source, Step}
import io.tidemark.oracle.Oracle.Moment
import io.tidemark.oracle.Query._

/** Holds what a report says of a query against what comes of it: what is emitted, what lets the next result out, and what a way
  * out does. The oracle says what comes.
  *
  * @param inputs the inputs by the names that sentences use
  */
private[status] final class SaidOf(query: Query, inputs: Map[String, Input]) {
  import SaidOf._

  private val nodes = query.nodes.toVector
  private val oracle = new Oracle(query)

  /** The operator whose results go to the sink, if there is one alone. */
  private val top: Option[Query] = Iterator.iterate(query) {
    case Without(input, _) => input
    case Limited(input) => input
    case Through(input, _) => input
    case other => other
  }.sliding(2).collectFirst { case Seq(one, next) if one eq next => one }

  /** The results in state of the operator on top, by the time (µs) at which they come out. */
  private def waiting(memory: Memory): Option[Seq[Long]] = top.collect {
    case it @ (_: Windows | _: Sessions | _: Ordered) =>
      memory.kept.getOrElse(io.tidemark.oracle.MarkId(nodes.indexWhere(_ eq it), 0), Vector.empty).map(_.time)
  }

  private def after(moment: Moment, steps: Step*): (Moment, Seq[Row]) =
    steps.foldLeft((moment, Seq.empty[Row])) { case ((now, rows), step) =>
      val (next, batch) = oracle.step(now, step)
      (next, rows ++ batch.toSeq.flatMap(_.rows).map(Row.of))
    }

  private def source(moment: Moment, input: Input): Source =
    moment.memory.sources.getOrElse(nodes.indexWhere(_ eq input), Source())

  /** A row of each split of an input. */
  private def rows(moment: Moment, input: Input, second: Int): Seq[(Int, Int)] = {
    val ids = if (input.splits.isEmpty) Set(0) else source(moment, input).splits.keySet ++ input.splits.get
    (if (ids.isEmpty) Set(0) else ids).toSeq.map(_ -> second)
  }

  /** What is false, by the claim. An empty list for a claim that was checked and is true; no entry for one that was not made. */
  def check(moment: Moment, sentence: String, code: String, fix: Option[String]): Map[String, Seq[String]] =
    Map(code -> Nil) ++ (if (isOfTop(sentence)) claims(moment, sentence, code, fix) else Map.empty)

  /** Where nothing has reached the operator on top, a sentence is about one below. */
  private def isOfTop(sentence: String): Boolean = {
    val label = top.collect {
      case _: Windows => "aggregation"
      case _: Sessions => "session aggregation"
      case _: Ordered => "in order"
    }
    // The operator nearest to a source has the largest number.
    label.exists(name => s"(?:^|[:.] )$name #0 |: $name #0 waits|(?:at|of) $name #0 ".r.findFirstIn(sentence).nonEmpty)
  }

  private def claims(moment: Moment, sentence: String, code: String, fix: Option[String]): Map[String, Seq[String]] =
    Map.empty ++
      emittedUpTo(moment, sentence).map("has emitted" -> _) ++
      emittedNext(moment, sentence).map("emits next" -> _) ++
      resumes(moment, sentence).map("resumes" -> _) ++
      Option.when(code == "FLOWING" && Due.findFirstIn(sentence).isEmpty)(heldInSilence(
        moment)).flatten.map("nothing is held" -> _) ++
      fix.flatMap(idles(moment, sentence, _)).map("idle" -> _)

  private def require(isTrue: Boolean)(what: => String): Seq[String] = if (isTrue) Nil else Seq(what)

  private def emittedUpTo(moment: Moment, sentence: String): Option[Seq[String]] = for {
    found <- HasEmitted.findFirstMatchIn(sentence)
    kept <- waiting(moment.memory)
    reached = micros(found.group(1))
  } yield require(kept.forall(_ > reached))(s"in state: $kept")

  private def emittedNext(moment: Moment, sentence: String): Option[Seq[String]] = for {
    found <- Due.findFirstMatchIn(sentence) if sentence.contains("at the next trigger")
    reached = micros(found.group(1))
    kept <- waiting(after(moment, quiet)._1.memory)
  } yield require(kept.forall(_ > reached))(s"after the next batch in state: $kept")

  /** The input and its event time (s) that let the next result out, with what waits (µs). */
  private def next(moment: Moment, sentence: String): Option[(Input, Int, Long, Boolean)] = for {
    found <- NextEventTime.findFirstMatchIn(sentence)
    name = Option(found.group(1)).orElse(Option(found.group(2))).orElse(Option.when(inputs.size == 1)(inputs.keys.head))
    input <- name.flatMap(inputs.get) if nodes.forall(isOfInputs)
    kept <- waiting(moment.memory) if kept.nonEmpty
  } yield (
    input,
    Math.floorDiv(micros(found.group(3)) + 999999L, 1000000L).toInt,
    kept.min,
    found.group(4).startsWith(", if no other"))

  private def resumes(moment: Moment, sentence: String): Option[Seq[String]] =
    next(moment, sentence).filter(_ => !sentence.contains("If it has rows")).map {
      case (input, second, first, ifOthers) =>
        def fed(second: Int) = {
          val others =
            if (ifOthers)
              inputs.values.toSeq.filterNot(_ eq input).map(other => other.number -> rows(moment, other, Far))
            else Nil
          val now = Step(0, (others :+ (input.number -> rows(moment, input, second))).toMap)
          waiting(after(moment, now, quiet, quiet)._1.memory).get.contains(first)
        }
        require(fed(second - 1))(s"an event time of ${second - 1} s lets $first out already") ++
          require(!fed(second))(s"an event time of $second s does not let $first out")
    }

  /** What is not held does not come out if all inputs are as far as the one furthest ahead. */
  private def heldInSilence(moment: Moment): Option[Seq[String]] = for {
    _ <- top.collect { case it: Windows if !it.updates => it }
    if nodes.forall(isOfInputs) && inputs.nonEmpty && inputs.values.forall(_.idleAfter.isEmpty)
    settled = after(moment, quiet, quiet)._1
    kept <- waiting(settled.memory) if kept.nonEmpty
    clocks = inputs.values.flatMap { input =>
      source(settled, input).splits.values.flatMap(_.clock).maxOption
    }
    furthest <- clocks.maxOption
  } yield {
    val level = Step(
      0,
      inputs.values.map(in =>
        in.number -> rows(settled, in, Math.floorDiv(furthest, 1000L).toInt + in.delay)).toMap)
    val (_, out) = after(settled, level, quiet, quiet)
    val held = out.filter(_.times.head.exists(time => kept.contains(time + 1)))
    require(held.isEmpty)(s"held, and nothing says so: $held")
  }

  /** An input that is left out when it is silent lets the first result out, if nothing else holds it. */
  private def idles(moment: Moment, sentence: String, fix: String): Option[Seq[String]] = for {
    found <- SettingIdle.findFirstMatchIn(fix) if !sentence.contains("If it has rows")
    input <- inputs.get(found.group(2))
    (held, second, first, ifOthers) <- next(moment, sentence) if (held eq input) && !ifOthers && input.splits.isEmpty
    ahead = inputs.values.filterNot(_ eq input).filter(source(moment, _).reached.nonEmpty)
    if ahead.nonEmpty
  } yield {
    val changed = replaced(query, input, input.copy(idleAfter = Some(2), follows = found.group(1) != null))
    val others = ahead.map { other =>
      val latest = Math.floorDiv(source(moment, other).splits.values.flatMap(_.clock).max, 1000L).toInt
      other.number -> rows(moment, other, latest + other.delay)
    }.toMap
    val steps = Step(1, others, restart = true) +: Seq.fill(5)(Step(1, others)) :+ quiet
    val later = new Oracle(changed)
    val left = steps.foldLeft(moment)((now, step) => later.step(now, step)._1)
    require(!kept(left.memory).contains(first))(s"still in state with an idle time: $first, by $second s")
  }

  private def kept(memory: Memory): Seq[Long] = waiting(memory).get
}

private[status] object SaidOf {
  private val quiet = Step(0, Map.empty)
  private val Far = 100000

  private val HasEmitted = "has (?:emitted what was due|evicted its state) up to (\\S+?)[,.](?: |$)".r
  private val Due =
    "(?:What is due at .*? up to|State of .*? is evicted up to) (\\S+?)(?:,| is (?:emitted|evicted)|at)".r
  private val NextEventTime =
    ("once (?:an event time(?: of \"(\\w+)\")? reaches|every split(?: of \"(\\w+)\")? that is not idle has reached) (\\S+?)" +
      "(, if no other input is behind then|[,.](?: |$))").r
  private val SettingIdle =
    "setting (?:idle_after|idle=tidemark.Idle\\(after=\"[^\"]*\", (at_join=\"follow\")\\)) on \"(\\w+)\"".r

  private def micros(text: String): Long = {
    val time = Instant.parse(text)
    time.getEpochSecond * 1000000L + time.getNano / 1000L
  }

  /** Whether all event times are those of the inputs. */
  private def isOfInputs(node: Query): Boolean = node match {
    case _: Again | _: Running | _: SelfJoin => false
    case input: Input => !input.leftover
    case _ => true
  }

  private def replaced(query: Query, old: Input, by: Input): Query = query match {
    case input: Input => if (input eq old) by else input
    case other => Query.onInputs(other, other.inputs.map(replaced(_, old, by)))
  }
}
