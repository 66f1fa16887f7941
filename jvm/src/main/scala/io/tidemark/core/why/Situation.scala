package io.tidemark.core.why

import io.tidemark.core.{Input, OperatorId, OriginName, Watermark}
import io.tidemark.core.plan.{Decision, OperatorWatermarks, PlanShape, Propagation}

/** What is known of a query when a user asks why nothing comes out. Times are ms since the epoch.
  *
  * @param shape the query's plan
  * @param decision the watermarks that the next batch uses
  * @param origins the inputs, by name
  * @param lastRows of each operator input its rows in the last batch that had any rows
  * @param due the window of each aggregation that comes out next, as far as that is known
  * @param held the rows that wait in each operator in which rows do
  * @param haveEmitted the operators that have emitted rows in this run
  * @param nowMillis the wall clock
  * @param emitsAll whether every batch emits all results (output mode complete)
  * @param runsNoDataBatches whether a batch runs when a window is due and no row has arrived
  * @param countsSilence whether the time of this run may make an input idle
  * @param emitted every operator's watermarks, as the last batch used them that has ended; `None`: as the next one does
  * @param recentRows of each operator input its rows in the last batches that had any, the oldest first
  * @param next when the next batch may begin
  * @param worstSplits of each operator input the split that has lost most rows in this run, and how many
  */
final case class Situation(
    shape: PlanShape,
    decision: Decision,
    origins: Map[OriginName, Situation.Origin],
    lastRows: Map[Input, Situation.Rows],
    due: Map[OperatorId, Situation.Due],
    held: Map[OperatorId, Situation.Held],
    haveEmitted: Set[OperatorId],
    nowMillis: Long,
    emitsAll: Boolean,
    runsNoDataBatches: Boolean,
    countsSilence: Boolean,
    emitted: Option[OperatorWatermarks] = None,
    recentRows: Map[Input, Seq[Situation.Rows]] = Map.empty,
    next: Situation.NextBatch = Situation.NextBatch.Soon,
    worstSplits: Map[Input, (String, Long)] = Map.empty) {

  /** Every operator's watermarks in the next batch. */
  lazy val watermarks: OperatorWatermarks = Propagation.levels(shape, decision)

  /** The inputs that the rows of a part of the plan come from. */
  private[why] def below(part: PlanShape): Seq[Situation.Origin] =
    PlanShape.postOrder(part).collect { case origin: PlanShape.Origin => origin.name }.distinct.flatMap(origins.get)

  /** How sentences name an operator, and what they say stays in it. */
  private[why] def operator(shape: PlanShape): Verdict.Operator = {
    val input = PlanShape.inputsOf(shape).headOption
    val stays = shape match {
      case stateful: PlanShape.Stateful if stateful.emitsAtOnce => Verdict.Stays.State
      case join: PlanShape.Join if join.emitsAtOnce => Verdict.Stays.State
      case _: PlanShape.Join => Verdict.Stays.RowsWithoutMatch
      case _ if input.exists(in => haveEmitted(in.operator)) => Verdict.Stays.MoreResults
      case _ => Verdict.Stays.Results
    }
    Verdict.Operator(input.fold(shape.label)(PlanInput.nameOf(shape, _)), stays)
  }
}

object Situation {

  /** One input of the query.
    *
    * @param watermark its watermark in the next batch
    * @param delayMillis how far a clock is behind the largest event time
    * @param maxEventTimeMillis the largest event time so far
    * @param lastActiveMillis when it last had rows, if that is known
    * @param isSplit whether it has a clock for each split
    * @param notedIn the mark log in which writers, which are the splits, note their times
    * @param largestClockMillis the clock of the split that is furthest ahead
    * @param lastGoodMillis its latest watermark of this run that was not [[isFarAhead far ahead]]
    * @param farAhead the name of that split, if it is [[isFarAhead far ahead]]
    * @param last the split that holds the watermark back, if the input is split
    * @param idleAfterMillis after which silence it becomes idle, if it ever does
    * @param leftOut from when on it is left out if all of it stays silent, if it has such a time
    * @param advances whether its watermark follows the clock while all of it is idle
    * @param followsInJoins whether a join does not wait for it while all of it is idle
    * @param seenOnce how many splits it has, if nearly every one has rows in one batch and never again
    */
  final case class Origin(
      name: OriginName,
      watermark: Watermark,
      delayMillis: Long,
      maxEventTimeMillis: Option[Long],
      lastActiveMillis: Option[Long] = None,
      isSplit: Boolean = false,
      notedIn: Option[String] = None,
      largestClockMillis: Option[Long] = None,
      lastGoodMillis: Option[Long] = None,
      farAhead: Option[String] = None,
      last: Option[Split] = None,
      idleAfterMillis: Option[Long] = None,
      leftOut: Option[LeftOut] = None,
      advances: Boolean = false,
      followsInJoins: Boolean = false,
      seenOnce: Option[Int] = None) {
    def isNoted: Boolean = notedIn.nonEmpty

    private[why] def latestMillis: Option[Long] =
      (largestClockMillis ++ watermark.millis ++ maxEventTimeMillis).maxOption
  }

  /** @param clockMillis `None` if it has had no row with an event time
    * @param leftOut from when on it is left out if it stays silent; `None` if it never is
    * @param next what the next mark of a writer waits for, in words
    * @param fault why no mark of a writer counts that it writes from now on, if so
    * @param isLive whether it had rows in the last batch that read any of this input
    */
  final case class Split(
      name: String,
      clockMillis: Option[Long],
      lastActiveMillis: Option[Long],
      leftOut: Option[LeftOut],
      next: Option[String] = None,
      fault: Option[Fault] = None,
      isLive: Boolean = false)

  /** From when on an input or a split is left out that stays silent.
    * @param whileOthers whether others must have rows then
    */
  final case class LeftOut(fromMillis: Long, whileOthers: Boolean)

  /** @param millis the first watermark by which the window ends
    * @param isInState whether it is known to have rows; the next one may have none
    * @param nextMillis that of the next window of all, if it is another one
    */
  final case class Due(millis: Long, isInState: Boolean, nextMillis: Option[Long] = None)

  /** Rows that wait to come out in order.
    * @param firstMillis the watermark that lets the first of them go
    * @param lastMillis the watermark that lets the last of them go
    */
  final case class Held(rows: Long, firstMillis: Long, lastMillis: Long)

  /** A sentence on what is wrong, and what follows "Fix this by". */
  final case class Fault(what: String, fix: String)

  /** The rows that one batch brought to an operator's input.
    * @param mostMillis how far the latest of the late ones was behind the watermark
    */
  final case class Rows(all: Long, late: Long, mostMillis: Long) {
    def and(that: Rows): Rows = Rows(all + that.all, late + that.late, math.max(mostMillis, that.mostMillis))
  }

  /** When a batch may begin. */
  sealed trait NextBatch
  object NextBatch {
    case object Soon extends NextBatch

    /** @param everyMillis the interval between two triggers */
    final case class AtTrigger(everyMillis: Long) extends NextBatch

    /** The query has ended, or ends by itself when it has read what had arrived.
      * @param beginsWithDue whether a run begins with what is due, also if no row has arrived
      */
    final case class InNextRun(beginsWithDue: Boolean) extends NextBatch
  }

  // An event time further ahead of the wall clock than this is a wrong one, and not the difference of two clocks.
  private val FarAheadMillis = 24 * 3600 * 1000L

  def isFarAhead(millis: Long, nowMillis: Long): Boolean = millis - nowMillis > FarAheadMillis
}
