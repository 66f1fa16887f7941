package org.apache.spark.sql.tidemark.view

import io.tidemark.core.why.Words

/** The plan of a report as a tree of text. */
private[view] final class OperatorText(say: Say) {
  import OperatorText._

  def lines(plan: Fields): Seq[String] = "operators" +: tree(plan)

  /** A plan may be thousands of operators deep, so that this may not call itself for each. */
  private def tree(plan: Fields): Seq[String] = {
    val found = Vector.newBuilder[String]
    @annotation.tailrec
    def walk(left: List[Place]): Unit = left match {
      case Nil =>
      case place :: more =>
        val children = place.operator.list("children")
        found += place.first + title(place.operator)
        // Details of an operator hang beside the line that leads down to its children.
        val beside = place.rest + (if (children.isEmpty) "     " else "│    ")
        found ++= details(place.operator).map(beside + _)
        val below = children.zipWithIndex.map { case (child, at) =>
          if (at == children.size - 1) Place(child, s"${place.rest}└─ ", s"${place.rest}   ")
          else Place(child, s"${place.rest}├─ ", s"${place.rest}│  ")
        }
        walk(below.toList ++ more)
    }
    walk(List(Place(plan, "  ", "  ")))
    found.result()
  }

  private def details(operator: Fields): Seq[String] = {
    // Who holds a watermark back is worth a word only where there is more than one who could.
    val showsHolder = Operators.all(operator).flatMap(_.text("key")).distinct.size > 1
    columns(operator, showsHolder) ++ bounds(operator, showsHolder) ++ held(operator.at("held")) ++
      Option.when(operator.has("order"))(s"order: ${order(operator.at("order"))}")
  }

  private def title(operator: Fields): String = {
    val late = operator.long("late_rows").filter(_ > 0).fold("")(n => s", ${Words.counted(n, "late row")}")
    val passed =
      operator.long("passed_rows").filter(_ > 0).fold("")(n => s", ${Words.counted(n, "late row")} passed on")
    s"${Operators.name(operator)}${operator.text("key").fold("")(key => s" [${Say.name(key)}]")}$late$passed"
  }

  private def columns(operator: Fields, showsHolder: Boolean): Seq[String] =
    operator.list("columns").map { column =>
      // A column that begins here, or is not defined below, has nothing to come in.
      val in = column.long("in_ms").fold("")(at => s"in ${say.time(Some(at))}, ")
      val label = Say.label(column.text("key"), column.text("name"))
      s"$label: ${in}out ${say.time(column.long("out_ms"))}${holder(column, showsHolder)}"
    } ++
      operator.long("least_ms").map(at => s"no event-time column; everything below has passed ${say.time(Some(at))}") ++
      operator.longs("inputs_without_event_time").flatten.map(n => s"input $n has no event time and is left out")

  private def bounds(operator: Fields, showsHolder: Boolean): Seq[String] = {
    val sides = operator.list("sides")
    val own = sides.flatMap { side =>
      s"${side.text("side").getOrElse("?")} side: ${lateAndEviction(side, showsHolder)}" +: lateSplits(side).toSeq
    }
    val whole =
      if (sides.isEmpty && Bounds.exists(operator.has)) lateAndEviction(operator, showsHolder) +:
        lateSplits(operator).toSeq
      else Nil
    own ++ whole ++ operator.long("next_due_ms").map { due =>
      s"the next window closes when the watermark reaches ${say.time(Some(due))}${skipped(operator)}"
    }
  }

  private def lateAndEviction(of: Fields, showsHolder: Boolean): String = {
    // An `in_order` may pass late rows on.
    val passed = if (of.at("late").flag("passed")) " (passed on)" else ""
    val rows =
      if (of.flag("never_late")) "no row is late here"
      else of.long("late_ms").fold("no rows late yet")(at => s"late at or before ${say.time(Some(at))}$passed")
    // Windows say it beside the time at which the next of them is due.
    val scans = if (of.has("next_due_ms")) "" else skipped(of)
    if (of.flag("keeps_forever")) s"$rows, state kept forever"
    else of.long("eviction_ms").fold(s"$rows, no state evicted yet") { at =>
      s"$rows, state evicted up to ${say.time(Some(at))}${holder(of, showsHolder)}$scans"
    }
  }

  private def lateSplits(of: Fields): Option[String] = {
    val late = of.at("late")
    val worst = late.list("splits")
    val others = late.count("rows") - worst.map(_.count("rows")).sum
    val named =
      worst.map(split => s"${say.quoted(split.text("name").getOrElse("?"))} ${Words.grouped(split.count("rows"))}")
    val all = named ++ Option.when(others > 0)(s"others ${Words.grouped(others)}")
    Option.when(worst.nonEmpty)(s"late rows by split: ${all.mkString(", ")}")
  }

  private def skipped(of: Fields): String =
    of.long("skipped_scans").filter(_ > 0).fold("")(scans => s", ${Words.counted(scans, "state scan")} skipped")

  private def holder(of: Fields, shows: Boolean): String =
    of.text("held_by").filter(_ => shows).fold("")(key => s", held back by ${Say.name(key)}")

  private def order(order: Fields): String = {
    val lost = order.text("lost_at").map(at => s"at $at: ${order.text("why").getOrElse("")}")
    val rows = if (order.flag("of_groups")) "each group" else "all rows"
    order.text("kind") match {
      case Some("arrival") => lost.fold(s"$rows in the order of the source") { at =>
          s"$rows as each task has read them from the source, lost in part $at"
        }
      case Some("time") =>
        val by = s"$rows by ${order.texts("columns").map(Say.name).mkString(", then ")}"
        lost.fold(if (order.flag("over_batches")) by else s"$by, within each batch")(at => s"$by, lost in part $at")
      case _ => s"none, lost ${lost.getOrElse("")}"
    }
  }

  private def held(held: Fields): Seq[String] = held.long("rows").toSeq.flatMap {
    case 0 => Seq("holds no rows")
    case rows =>
      val split = held.text("split").fold("")(name => s", split ${say.quoted(name)}")
      val waits = held.text("waits_for").fold("")(key => s", waits for ${Say.name(key)}$split")
      val emitted = "emitted when the watermark reaches"
      s"holds ${Words.counted(rows, "row")} (${size(held.count("bytes"))})$waits" +:
        ((held.long("next_due_ms"), held.long("last_due_ms")) match {
          case (first @ Some(_), last) if first == last =>
            Seq(s"${if (rows == 1) "it is" else "they are"} $emitted ${say.time(first)}")
          case (first @ Some(_), last @ Some(_)) =>
            Seq(s"the first is $emitted ${say.time(first)}", s"the last is $emitted ${say.time(last)}")
          case _ => Nil
        })
  }
}

private[view] object OperatorText {
  private val Bounds = Seq("late_ms", "eviction_ms", "never_late", "keeps_forever")
  private val Units = Seq("kB", "MB", "GB")

  /** @param first what is in front of the operator's own line
    * @param rest what is in front of the lines below it
    */
  private final case class Place(operator: Fields, first: String, rest: String)

  private[view] def size(bytes: Long): String = {
    val sizes = Iterator.iterate(bytes / 1000.0)(_ / 1000).zip(Units)
    if (bytes < 1000) s"$bytes bytes"
    else {
      val (number, unit) = sizes.find { case (number, unit) => number < 999.95 || unit == Units.last }.get
      "%.1f %s".formatLocal(java.util.Locale.ROOT, number, unit)
    }
  }
}
