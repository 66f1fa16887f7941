package io.tidemark.core.calls

/** What the calls of some rows were. Those of several tasks add up.
  *
  * @param calls how many were begun, retries included
  * @param failed ended with an error
  * @param timedOut passed their time-out
  * @param defaulted rows that have a default or a null, because their last call failed
  * @param mostInFlight the most that one task had in flight at one time
  * @param durations how many calls took how long, by [[CallStats.bucket]]
  */
final case class CallStats(
    calls: Long,
    retries: Long,
    failed: Long,
    timedOut: Long,
    defaulted: Long,
    mostInFlight: Int,
    durations: Map[Int, Long],
    slowest: Option[CallStats.Slowest]) {
  import CallStats._

  def +(that: CallStats): CallStats = CallStats(
    calls + that.calls,
    retries + that.retries,
    failed + that.failed,
    timedOut + that.timedOut,
    defaulted + that.defaulted,
    math.max(mostInFlight, that.mostInFlight),
    that.durations.foldLeft(durations) { case (all, (bucket, count)) =>
      all.updated(bucket, all.getOrElse(bucket, 0L) + count)
    },
    (slowest ++ that.slowest).maxByOption(_.millis))

  /** How long at most that share of the calls took (ms), to within a tenth. `None` if none has ended. */
  def quantileMillis(share: Double): Option[Double] = {
    val ended = durations.values.sum
    durations.toSeq.sortBy(_._1).scanLeft(Int.MinValue -> 0L) { case ((_, before), (bucket, count)) =>
      bucket -> (before + count)
    }.collectFirst { case (bucket, upTo) if upTo > 0 && upTo >= math.ceil(share * ended) => upperMillis(bucket) }
      .map(upper => slowest.fold(upper)(call => math.min(upper, call.millis)))
  }
}

object CallStats {
  val none: CallStats = CallStats(0, 0, 0, 0, 0, 0, Map.empty, None)

  /** @param inputs of the call, in words */
  final case class Slowest(millis: Double, inputs: String)

  // Eight buckets for each doubling, so that a bucket is a tenth wide.
  private val PerDoubling = 8

  def bucket(millis: Double): Int =
    if (millis <= 1) 0 else math.ceil(math.log(millis) / math.log(2) * PerDoubling).toInt

  private def upperMillis(bucket: Int): Double = math.pow(2, bucket.toDouble / PerDoubling)

  /** Reads what a worker of Python says of its calls: the counts, the buckets, the longest time, and then its inputs. `None`
    * if it is anything else: another version of Tidemark may run there.
    */
  def parse(text: String): Option[CallStats] = text.split("\n", 4) match {
    case Array(counts, durations, millis, inputs) =>
      for {
        Seq(calls, retries, failed, timedOut, defaulted, most) <- longs(counts.split(' '))
        buckets <- longs(durations.split(' ').filter(_.nonEmpty).flatMap(_.split(':')))
      } yield CallStats(
        calls,
        retries,
        failed,
        timedOut,
        defaulted,
        most.toInt,
        buckets.grouped(2).collect { case Seq(bucket, count) => bucket.toInt -> count }.toMap,
        millis.toDoubleOption.map(Slowest(_, inputs)))
    case _ => None
  }

  private def longs(texts: Array[String]): Option[Seq[Long]] = {
    val numbers = texts.toSeq.map(_.toLongOption)
    Option.when(numbers.forall(_.isDefined))(numbers.flatten)
  }

  /** Counts the calls of one task, in one thread. */
  final class Counter {
    private var calls, retries, failed, timedOut, defaulted = 0L
    private var most = 0
    private val durations = scala.collection.mutable.HashMap.empty[Int, Long]
    private var slowest = Option.empty[Slowest]

    /** @param inFlight how many are now */
    def began(isRetry: Boolean, inFlight: Int): Unit = {
      calls += 1
      if (isRetry) retries += 1
      most = math.max(most, inFlight)
    }

    def ended(millis: Double, hasFailed: Boolean, inputs: => String): Unit = {
      if (hasFailed) failed += 1
      took(millis, inputs)
    }

    def gaveUp(millis: Double, inputs: => String): Unit = {
      timedOut += 1
      took(millis, inputs)
    }

    def tookDefault(): Unit = defaulted += 1

    private def took(millis: Double, inputs: => String): Unit = {
      val at = bucket(millis)
      durations(at) = durations.getOrElse(at, 0L) + 1
      if (slowest.forall(_.millis < millis)) slowest = Some(Slowest(millis, inputs))
    }

    def result: CallStats =
      CallStats(calls, retries, failed, timedOut, defaulted, most, durations.toMap, slowest)
  }
}
