package org.apache.spark.sql.tidemark.status

import io.tidemark.core.OriginName
import io.tidemark.core.why.{Verdict, Words}

import org.apache.spark.internal.Logging

/** Works out after each batch why nothing comes out, for the progress and the log. It belongs to the query's thread.
  *
  * With a million splits it takes some ms, because it looks for the one that is furthest behind. So it rests while it has
  * cost more than a hundredth of the run's time, and a little for the start, when no code is compiled yet.
  *
  * @param label the query's name, for messages
  * @param nanoTime a clock that only measures
  */
private[tidemark] final class ReasonLog(label: String, words: Words, nanoTime: () => Long = () => System.nanoTime())
    extends Logging {
  import ReasonLog._

  private val begun = nanoTime()
  private var spentNanos = 0L
  private var last = Option.empty[Verdict]
  private var batches = 0

  /** @return `None` while it rests */
  def after(batch: QueryView.Planned): Option[Verdict] = {
    val now = nanoTime()
    Option.when(spentNanos <= StartNanos + (now - begun) / ShareOfTime) {
      val verdict = Reason.of(batch, System.currentTimeMillis())
      say(verdict)
      spentNanos += nanoTime() - now
      verdict
    }
  }

  /** Warns once of trouble that lasts. Inputs that take turns at being behind are not trouble. */
  private def say(verdict: Verdict): Unit = {
    val isSame = last.exists(before => subject(before) == subject(verdict))
    batches = if (isSame) batches + 1 else 1
    if (verdict.isTrouble && batches == LastsBatches)
      logWarning(s"$label, for $batches batches: ${verdict.message(words)}")
    else if (!isSame && last.exists(_.isTrouble) && !verdict.isTrouble)
      logInfo(s"$label: ${verdict.sentence(words)}")
    last = Some(verdict)
  }

  private def subject(verdict: Verdict): (String, Option[OriginName]) = (verdict.code, verdict.heldBy)
}

private[tidemark] object ReasonLog {
  private val ShareOfTime = 100L
  private val StartNanos = 500000000L
  private val LastsBatches = 10
}
