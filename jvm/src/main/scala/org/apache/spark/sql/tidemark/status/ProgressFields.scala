package org.apache.spark.sql.tidemark.status

import io.tidemark.core.OriginName
import io.tidemark.core.why.Words

import org.apache.spark.sql.tidemark.exec.ObservedFields
import org.apache.spark.sql.types.{BooleanType, LongType, StringType}

/** What the progress of each batch says of the watermarks: why nothing comes out, what holds it, and each input's watermark
  * and how far that is behind the input's largest event time.
  */
private[tidemark] object ProgressFields {

  // Spark keeps the fields of every batch, and an event log has them all.
  private val MostOrigins = 10
  private val LongestKey = 100

  /** @param after the query when the batch has ended */
  def of(
      origins: Seq[OriginName],
      words: Words)(after: => Option[QueryView.Planned]): ObservedFields = {
    val named = origins.take(MostOrigins)
    val columns = Seq("why" -> StringType, "held_by" -> StringType) ++
      shown(named).flatMap { name =>
        Seq(s"watermark_ms_$name" -> LongType, s"behind_ms_$name" -> LongType, s"idle_$name" -> BooleanType)
      }
    ObservedFields(
      columns,
      () =>
        after.fold(columns.map(_ => null: Any)) { query =>
          val decision = query.snapshot.decision
          Seq(text(query.reason.map(_.sentence(words))), text(query.reason.flatMap(_.heldBy).map(_.toString))) ++
            named.flatMap { name =>
              val at = decision.origin(name)
              val totals = query.totals.getOrElse(name, QueryView.Totals.none)
              val reached = at.millis.filter(_ => totals.hasTimes)
              val behind = for (event <- totals.maxEventTimeMillis; watermark <- reached) yield event - watermark
              Seq(reached.map(Long.box).orNull, behind.map(Long.box).orNull, at.isIdle)
            }
        })
  }

  /** The names on one line and cut, which may make two of them the same: the second then has the number of the input. */
  private def shown(names: Seq[OriginName]): Seq[String] = {
    val cut = names.map(name => Words.legible(name.toString, LongestKey))
    cut.zipWithIndex.map { case (name, n) => if (cut.indexOf(name) == n) name else s"$name ${n + 1}" }
  }

  private def text(of: Option[String]): String = of.orNull
}
