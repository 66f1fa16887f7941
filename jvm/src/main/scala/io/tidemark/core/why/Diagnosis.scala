package io.tidemark.core.why

import io.tidemark.core.{Side, Watermark}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.why.Situation.Origin

/** Decides why nothing comes out of a query. The cases are tried in the order of [[Diagnosis.verdict]]: rows that are lost
  * come first, then what holds results back.
  *
  * Something is held back if it would come out, were all inputs as far as the one furthest ahead. Inputs are rarely at the
  * same time, so the leading one must have passed what is in state. Where that is not known, it must be ahead by more than the
  * delay of the input behind, which is how far rows may be apart by the user's own word.
  */
final class Diagnosis private (of: Situation) {
  import Diagnosis._

  def verdict: Verdict = operators match {
    case Nil => Verdict.NoOperatorWaits
    case some if of.emitsAll => Verdict.EmitsAll(some.head.operator)
    case some =>
      val lost = new LostRows(of)
      lost.all.orElse(held(some)).orElse(lost.some).getOrElse(flowing(some.head))
  }

  /** The stateful operators that no other one reads, the one that is furthest behind first. */
  private val operators: Seq[Waiting] =
    top(of.shape).filterNot(isNeverMoved).flatMap(fed).sortBy(_.reached.millis)

  /** What an operator reads that another one emits has no event time before that one emits something. */
  private def fed(shape: PlanShape): Seq[Waiting] = {
    val waiting = new Waiting(of, shape)
    val silent = PlanShape.postOrder(shape).collect {
      case origin: PlanShape.Origin if of.origins.get(origin.name).exists(_.maxEventTimeMillis.isEmpty) =>
        top(origin).filterNot(isNeverMoved)
    }
    if (waiting.reached == Watermark.Unknown) silent.flatten.headOption.fold(Seq(waiting))(fed) else Seq(waiting)
  }

  /** Whether no watermark does anything there, as at a limit and at a function with state that sets no timeouts. */
  private def isNeverMoved(shape: PlanShape): Boolean = shape match {
    case stateful: PlanShape.Stateful => stateful.emitsAtOnce && stateful.eviction == PlanShape.Eviction.ByItself
    case _ => false
  }

  private def isFarAhead(millis: Long): Boolean = Situation.isFarAhead(millis, of.nowMillis)

  private def held(some: Seq[Waiting]): Option[Verdict] =
    some.iterator.flatMap(waiting => cases.iterator.flatMap(_(waiting)).nextOption()).nextOption()

  // The first one that applies to an operator tells what holds it.
  private def cases: Seq[Waiting => Option[Verdict]] = Seq(
    neverEvictsItself,
    wrongUnit,
    clockFarAhead,
    byMark,
    noEventTime,
    noDataBatches,
    joinWaits,
    allSilent,
    bySplit,
    byInput,
    neverEvicts)

  /** What writers note need not be clock times. */
  private def wrongUnit(waiting: Waiting): Option[Verdict] = {
    val found = for {
      origin <- waiting.origins if !origin.isNoted
      latest <- origin.latestMillis
      guess <- TimeUnitGuess.of(latest, of.nowMillis)
      // Only one of several inputs or splits may have such times.
      if waiting.reached.millis.exists(reached => isFarAhead(reached) == isFarAhead(latest))
    } yield WrongTime.WrongUnit(waiting.operator, origin.name, latest, guess, isFarAhead(latest), origin.lastGoodMillis)
    found.headOption
  }

  /** Nothing is compared with a clock that is wrong: the others would seem to be behind, and the advice to leave one out would
    * lose all its rows. If all are far ahead, the query is about the future. What writers note need not be clock times.
    */
  private def clockFarAhead(waiting: Waiting): Option[Verdict] = {
    val found = for {
      reached <- waiting.reached.millis.toSeq if !isFarAhead(reached)
      origin <- waiting.origins if !origin.isNoted
      clock <- (origin.largestClockMillis ++ origin.watermark.millis).maxOption if isFarAhead(clock)
    } yield WrongTime.ClockFarAhead(
      waiting.operator,
      origin.name,
      origin.farAhead,
      clock,
      of.nowMillis,
      origin.lastGoodMillis)
    found.headOption
  }

  /** A writer whose marks no longer count will hold the watermark, even if it is not behind the others yet. */
  private def byMark(waiting: Waiting): Option[Verdict] = {
    val found = for (origin <- waiting.origins; split <- origin.last; fault <- split.fault)
      yield InputVerdict.HeldByMark(waiting.operator, origin.name, split.name, fault)
    found.headOption
  }

  private def noEventTime(waiting: Waiting): Option[Verdict] = {
    val origins = waiting.origins
    def undefined = origins.find(origin => origin.watermark.millis.isEmpty && !origin.watermark.isIdle)
    // A row without an event time does not end a silence, so there may have been many of them.
    def neverAny =
      origins.headOption.filter(_ => origins.forall(origin => origin.watermark.millis.isEmpty && !origin.advances))
    val found = origins.find(origin => !origin.isNoted && origin.maxEventTimeMillis.contains(OfNull))
      .orElse(undefined.filter(_ => waiting.reached == Watermark.Unknown)).orElse(neverAny)
    found.map { origin =>
      val hasBegun = origin.isNoted || origin.maxEventTimeMillis.nonEmpty
      (origin.last.filter(split => split.clockMillis.isEmpty && hasBegun), origin.notedIn) match {
        case (Some(split), _) => heldBySplit(waiting, origin, split, None)
        case (None, Some(log)) => InputVerdict.NoMarks(waiting.operator, origin.name, log)
        case (None, None) =>
          InputVerdict.NoEventTime(
            waiting.operator,
            origin.name,
            hasRows = origin.maxEventTimeMillis.nonEmpty,
            origin.watermark.isIdle,
            atJoin(waiting, origin),
            origin.idleAfterMillis,
            of.countsSilence)
      }
    }
  }

  private def noDataBatches(waiting: Waiting): Option[Verdict] = for {
    due <- waiting.dueMillis
    if !of.runsNoDataBatches && waiting.holdsSome && waiting.reached.millis.exists(_ >= due)
  } yield Verdict.NoDataBatchesOff(waiting.operator, due, waiting.held)

  /** Also while all inputs are idle: a row of another one would not help. */
  private def joinWaits(waiting: Waiting): Option[Verdict] = {
    val found = for {
      join <- waiting.joins
      origins = of.below(join)
      origin <- origins
      if origin.watermark.isIdle && !origin.followsInJoins && waiting.holder.exists(_.name == origin.name)
      if origins.exists(isAhead(_, origin, waiting))
    } yield InputVerdict.JoinWaitsForIdle(
      waiting.operator,
      of.operator(join).name,
      origin.name,
      origin.watermark.millis,
      origin.idleAfterMillis,
      waiting.next)
    found.headOption
  }

  /** Whether a join waits for an input even while it is idle. */
  private def atJoin(waiting: Waiting, origin: Origin): Boolean =
    !origin.followsInJoins && waiting.joins.exists(of.below(_).exists(_.name == origin.name))

  private def isAhead(leader: Origin, origin: Origin, waiting: Waiting): Boolean =
    (leader.watermark.millis, origin.watermark.millis) match {
      case (Some(ahead), Some(reached)) => waiting.isHeldBy(origin, reached, ahead)
      case (ahead, reached) => ahead.nonEmpty && reached.isEmpty
    }

  private def allSilent(waiting: Waiting): Option[Verdict] = {
    val origins = waiting.origins
    Option.when(origins.nonEmpty && origins.forall(_.watermark.isIdle)) {
      val holder = waiting.holder.getOrElse(origins.head)
      InputVerdict.AllSilent(
        waiting.operator,
        holder.name,
        waiting.reached.millis,
        origins.flatMap(_.lastActiveMillis).maxOption,
        holder.idleAfterMillis,
        holder.advances,
        // Where it follows the clock, no event time has to come.
        waiting.next.filterNot(_ => holder.advances))
    }
  }

  private def bySplit(waiting: Waiting): Option[Verdict] = for {
    origin <- waiting.holder if origin.isSplit
    split <- origin.last
    behind = for (largest <- origin.largestClockMillis; clock <- split.clockMillis) yield (clock, largest)
    if behind.forall { case (clock, largest) => waiting.isHeldBy(origin, clock, largest) }
  } yield heldBySplit(waiting, origin, split, behind.map { case (clock, largest) => largest - clock })

  private def heldBySplit(waiting: Waiting, origin: Origin, split: Situation.Split, behind: Option[Long]): Verdict =
    HeldBySplit(
      waiting.operator,
      origin.name,
      split,
      behind,
      of.nowMillis,
      origin.notedIn,
      origin.seenOnce,
      of.countsSilence,
      waiting.next)

  private def byInput(waiting: Waiting): Option[Verdict] = for {
    origin <- waiting.holder
    reached <- origin.watermark.millis
    ahead <- waiting.besides(origin).maxByOption(_.watermark.millis)
    far <- ahead.watermark.millis if waiting.isHeldBy(origin, reached, far)
  } yield InputVerdict.HeldByInput(
    waiting.operator,
    origin.name,
    reached,
    origin.lastActiveMillis,
    ahead.name,
    far,
    of.nowMillis,
    origin.idleAfterMillis,
    origin.leftOut,
    atJoin(waiting, origin),
    of.countsSilence,
    waiting.next)

  /** Nothing that could be done for an input would let this operator evict its state. */
  private def neverEvictsItself(waiting: Waiting): Option[Verdict] = waiting.shape match {
    case join: PlanShape.Join if join.emitsAtOnce =>
      neverEvicts(waiting).filter(_.operator.name == waiting.operator.name)
    case stateful: PlanShape.Stateful if stateful.emitsAtOnce && stateful.eviction == PlanShape.Eviction.Never =>
      Some(Verdict.NeverEvicts(waiting.operator, None))
    case _ => None
  }

  private def neverEvicts(waiting: Waiting): Option[Verdict.NeverEvicts] = waiting.joins.flatMap { join =>
    val hasTime = of.below(join).nonEmpty
    Seq[Side](Side.Left, Side.Right).find(side => hasTime && join.side(side).bound.isEmpty).map { side =>
      Verdict.NeverEvicts(of.operator(join), Some(side.name))
    }
  }.headOption

  private def flowing(waiting: Waiting): Verdict =
    waiting.reached.millis.fold[Verdict](Verdict.NoBatchYet(isRestart = false)) { reached =>
      val origin = waiting.holder
      val latest = origin.filter(o => !o.isSplit && o.maxEventTimeMillis.exists(_ - o.delayMillis == reached))
      Flowing(
        waiting.operator,
        origin.map(_.name),
        reached,
        latest.map(_.delayMillis),
        waiting.next,
        // Where the next window is known, nothing is due before it ends.
        !of.runsNoDataBatches && waiting.dueMillis.isEmpty,
        origin.filterNot(_.isNoted).flatMap(_.watermark.millis).filter(isFarAhead).map(_ - of.nowMillis),
        origin.flatMap(_.lastGoodMillis),
        pending(waiting, reached))
    }

  /** Where no window is known that ends later, something may be due that only the next batch emits. */
  private def pending(waiting: Waiting, reached: Long): Option[Flowing.Pending] =
    for {
      used <- of.emitted
      emitted = waiting.emittedBy(used).millis
      if emitted.forall(_ < reached) && waiting.dueMillis.forall(_ <= reached) && of.runsNoDataBatches
    } yield Flowing.Pending(emitted.filter(_ > 0), of.next)

  /** A query that has ended with an error.
    * @param batch the one that was not committed; @param what the first line of the error
    */
  private def failed(batch: Option[Long], what: String): Verdict =
    Verdict.Failed(
      batch,
      what,
      operators.headOption.map(waiting =>
        waiting.operator -> of.emitted.flatMap(waiting.emittedBy(_).millis).filter(_ > 0)))
}

object Diagnosis {

  // Spark counts a null as this event time.
  private val OfNull = 0L

  def of(situation: Situation): Verdict = new Diagnosis(situation).verdict

  /** The same for a query that has ended with an error. */
  def ofFailed(situation: Situation, batch: Option[Long], what: String): Verdict =
    new Diagnosis(situation).failed(batch, what)

  private def top(shape: PlanShape): Seq[PlanShape] =
    if (PlanShape.inputsOf(shape).nonEmpty) Seq(shape) else shape.inputs.flatMap(top)
}
