package org.apache.spark.sql.tidemark.exec.calls

import java.util.UUID
import java.util.concurrent.{LinkedBlockingQueue, ThreadLocalRandom, TimeoutException, TimeUnit}

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import io.tidemark.TidemarkException
import io.tidemark.core.calls.{AsyncQueue, CallIds, CallStats}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection}
import org.apache.spark.sql.tidemark.columns.AsyncRules

/** The rows of a task with the results of their calls.
  *
  * The task's thread does everything but the calls: it reads rows, begins calls, waits until one of them ends or has to be
  * given up, and emits rows. A call that ends leaves its result in `ended`, from whatever thread. So the task has no
  * thread of its own to be ended, and a task that is killed is interrupted while it waits.
  *
  * A time-out gives up a call, and whatever the call returns later is ignored. It cannot end it, so the call keeps its slot
  * until it has ended: no more calls are in flight than allowed.
  */
private[exec] final class AsyncRows(
    rows: Iterator[InternalRow],
    open: () => Row => Future[Any],
    keyOf: Option[UnsafeProjection],
    conversion: AsyncConversion,
    ids: CallIds,
    counter: CallStats.Counter,
    rules: AsyncRules)
    extends Iterator[InternalRow] {
  import AsyncRows._

  private val queue =
    new AsyncQueue[Called, InternalRow](
      rules.concurrency,
      capacity = math.max(LeastCapacity, 2 * rules.concurrency),
      rules.ordered)
  private val ended = new LinkedBlockingQueue[Ended]
  // By when they began, so that the first one is the first to be given up.
  private val inFlight = mutable.LinkedHashMap.empty[Entry, Long]
  // Calls that were given up, by when, and until when they have to have ended if a row waits for them.
  private val goingOn = mutable.LinkedHashMap.empty[(Entry, Int), Long]
  private val retries = mutable.PriorityQueue.empty[Retry](Ordering.by((retry: Retry) => -retry.atNanos))
  private val joined = new JoinedRow
  private val timeoutNanos = rules.timeoutMillis.fold(Never)(TimeUnit.MILLISECONDS.toNanos)
  // Opened at the first row, and outside of a call: a client that cannot be opened is not a failed call.
  private lazy val call = open()
  private var next_ = Option.empty[InternalRow]

  override def hasNext: Boolean = {
    while (next_.isEmpty && (!queue.isEmpty || rows.hasNext)) advance()
    next_.isDefined
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = next_.get
    next_ = None
    row
  }

  /** Does what can be done, and waits only if nothing can be. */
  private def advance(): Unit = {
    takeEnded(ended.poll())
    giveUp()
    retry()
    begin()
    if (goingOn.nonEmpty) failIfStuck()
    queue.poll() match {
      case Some((called, result)) => next_ = Some(joined(called.row, result))
      case None if queue.hasRoom && rows.hasNext => add(rows.next())
      case None if !queue.isEmpty => takeEnded(waited())
      case None =>
    }
  }

  private def add(row: InternalRow): Unit =
    if (rules.skipsNulls && conversion.hasNoInputs(row)) skip(row)
    else queue.add(new Called(row.copy(), conversion.inputsOf(row)), keyOf.map(_(row).copy()))

  /** A row that waits for none before it needs no place in the queue, and so no copy. */
  private def skip(row: InternalRow): Unit =
    if (queue.isEmpty || !rules.ordered) next_ = Some(joined(row, conversion.none))
    else queue.addDone(new Called(row.copy(), Row.empty), conversion.none)

  private def begin(): Unit = {
    var next = queue.begin()
    while (next.isDefined) {
      val entry = next.get
      val attempt = entry.attempts
      inFlight(entry) = System.nanoTime() + timeoutNanos
      counter.began(isRetry = attempt > 1, inFlight = inFlight.size + goingOn.size)
      begun(entry.row).onComplete(result => ended.add(Ended(entry, attempt, result)))(ExecutionContext.parasitic)
      next = queue.begin()
    }
  }

  private def begun(row: Called): Future[Any] = {
    val calling = call
    try CallIds.within(() => idOf(row))(Option(calling(row.inputs))).getOrElse(Future.failed(
        new NullPointerException("it returned null, and no Future")))
    catch {
      // A class that this executor lacks is an error of the call as well.
      case error @ (NonFatal(_) | _: LinkageError) => Future.failed(error)
    }
  }

  private def idOf(row: Called): UUID = row.id.getOrElse {
    val id = ids.next(conversion.bytesOf(row.row))
    row.id = Some(id)
    id
  }

  private def takeEnded(outcome: Ended): Unit = if (outcome != null) {
    // The end of an attempt that was given up before means nothing but that its slot is free.
    if (goingOn.nonEmpty && goingOn.remove(outcome.entry -> outcome.attempt).isDefined) queue.returned(outcome.entry)
    else inFlight.remove(outcome.entry).foreach { deadline =>
      val inputs = outcome.entry.row.inputs
      counter.ended(millisSince(deadline - timeoutNanos), outcome.result.isFailure, conversion.described(inputs))
      outcome.result match {
        case Success(value) => queue.done(outcome.entry, conversion.written(inputs, value))
        case Failure(error) => failed(outcome.entry, error)
      }
    }
  }

  private def giveUp(): Unit = while (inFlight.headOption.exists(_._2 <= System.nanoTime())) {
    val (entry, deadline) = inFlight.head
    inFlight -= entry
    queue.gaveUp(entry)
    counter.gaveUp(millisSince(deadline - timeoutNanos), conversion.described(entry.row.inputs))
    goingOn(entry -> entry.attempts) = System.nanoTime() + timeoutNanos
    failed(entry, new TimeoutException(s"no result within ${rules.timeoutMillis.getOrElse(0L)} ms"))
  }

  /** Ends the task if rows wait for nothing but calls that should have ended long ago. */
  private def failIfStuck(): Unit = {
    val now = System.nanoTime()
    val overdue = goingOn.iterator.takeWhile(_._2 <= now).map(_._1._1).toSeq
    overdue.find(queue.isWaitingFor).foreach(entry => throw stuck(entry, "the slot of a key"))
    if (overdue.size == rules.concurrency && queue.isWaiting)
      throw stuck(overdue.head, if (rules.concurrency == 1) "the only slot" else s"all ${rules.concurrency} slots")
  }

  private def stuck(entry: Entry, slots: String): TidemarkException =
    conversion.stuck(entry.row.inputs, slots, rules.timeoutMillis.getOrElse(0L))

  private def failed(entry: Entry, error: Throwable): Unit = {
    queue.failed(entry)
    if (entry.attempts <= rules.retries) {
      val longest = math.max(rules.backoffMillis, LongestWaitMillis)
      val millis = math.min(rules.backoffMillis << math.min(entry.attempts - 1, MostDoublings), longest)
      // Half of the wait is random, so that not all rows call again at the same time.
      val nanos = (TimeUnit.MILLISECONDS.toNanos(millis) * (1 + ThreadLocalRandom.current.nextDouble()) / 2).toLong
      retries += Retry(System.nanoTime() + nanos, entry)
    } else if (rules.failsQuery) throw conversion.failed(entry.row.inputs, entry.attempts, error)
    else {
      counter.tookDefault()
      queue.done(entry, conversion.none)
    }
  }

  private def retry(): Unit =
    while (retries.headOption.exists(_.atNanos <= System.nanoTime())) queue.again(retries.dequeue().entry)

  private def millisSince(beganNanos: Long): Double = (System.nanoTime() - beganNanos) / 1e6

  private def waited(): Ended = {
    val now = System.nanoTime()
    val overdue = goingOn.valuesIterator.find(_ > now)
    val until = (inFlight.headOption.map(_._2) ++ retries.headOption.map(_.atNanos) ++ overdue).minOption
    ended.poll(until.fold(Never)(_ - now), TimeUnit.NANOSECONDS)
  }
}

private object AsyncRows {
  type Entry = AsyncQueue.Entry[Called, InternalRow]

  /** A row, and what its function is given.
    * @param id what it has got from `callId`, the same for all of its calls
    */
  final class Called(val row: InternalRow, val inputs: Row, var id: Option[UUID] = None)

  final case class Ended(entry: Entry, attempt: Int, result: Try[Any])
  final case class Retry(atNanos: Long, entry: Entry)

  /** Calls are made for rows behind a slow call too: there is room for at least so many until it ends. */
  val LeastCapacity = 20000

  /** A century. */
  val Never: Long = TimeUnit.DAYS.toNanos(36500)
  val MostDoublings = 20
  val LongestWaitMillis: Long = TimeUnit.SECONDS.toMillis(30)
}
