package io.tidemark.core.support

import scala.util.Random

import io.tidemark.core.ColumnId
import io.tidemark.core.plan.{Order, OrderStep, OrderTerm}
import io.tidemark.core.plan.OrderStep._

/** Runs plans of [[OrderStep]]s on rows, with everything that is left to chance drawn as badly as it may be: which blocks of a
  * shuffle come first, how an unstable sort puts equal rows, what a union reads first.
  */
private[tidemark] final class OrderSimulation(random: Random) {
  import OrderSimulation._

  /** Whether the rows of a node contradict what is claimed of them.
    * @param batches for each batch, the partitions of the node's output
    */
  def contradiction(claim: Order, batches: Seq[Parts]): Option[String] = claim match {
    case _: Order.Lost => None
    case Order.Arrival(_, lane, spreads, flaw) =>
      val columns = spreads.map(_.columns)
      val mixed = lane.columns.flatMap { of =>
        batches.flatten.flatten.groupBy(agreed(_, of)).values.map(_.map(row => (row.source, row.lane)).distinct)
          .find(_.size > 1).map(lanes => s"rows that agree on $of are of the lanes $lanes")
      }
      if (columns.exists(_.isEmpty)) mixed
      else {
        val on = columns.flatten.flatten.toSet
        val moved = batches.flatMap { parts =>
          val lanes = parts.zipWithIndex.flatMap { case (rows, part) => rows.map(_ -> part) }
            .groupBy { case (row, _) => (row.source, row.lane, flaw.map(_ => row.task), agreed(row, on)) }
          lanes.collectFirst {
            case (key, rows) if rows.map(_._2).distinct.size > 1 => s"rows of $key are in several partitions"
            case (key, rows) if !isSorted(rows.map(_._1.number)) => s"rows of $key are not as they were read"
          }
        }.headOption
        mixed.orElse(moved)
      }
    case time: Order.Time =>
      def key(row: Row) = row.key.take(time.names.size)
      val inBatch = time.groups.flatMap { by =>
        batches.flatten.flatMap(_.groupBy(agreed(_, by)).values)
          .find(rows => !isSortedBy(rows.map(key))).map(rows => s"a group is not in order: ${rows.map(key)}")
      }
      val over =
        if (!time.isOverBatches || time.flaw.nonEmpty) None
        else {
          val times = batches.map(_.flatten.map(_.key.head))
          times.indices.collectFirst {
            case at if times(at).exists(t => times.take(at).flatten.exists(_ > t)) => s"batch $at has an earlier row"
          }
        }
      inBatch.orElse(over)
  }

  /** The same of what is claimed of each group of an operator, whose input is shuffled by these keys. */
  def contradiction(claim: Order, keys: Set[ColumnId], batches: Seq[Parts]): Option[String] = claim match {
    case Order.Arrival(_, _, _, None) =>
      batches.flatMap(_.flatMap(_.groupBy(agreed(_, keys)).values)).collectFirst {
        case rows if rows.map(row => (row.source, row.lane)).distinct.size > 1 => s"a group is of several lanes: $rows"
        case rows if !isSorted(rows.map(_.number)) => s"a group is not as it was read: $rows"
      }
    case _ => None
  }

  /** The output of a node in each batch. */
  def run(step: OrderStep, below: Seq[Seq[Parts]]): Seq[Parts] = step match {
    case source: Source => (0 until Batches).map(_ => read(source))
    case made: InOrder => ordered(made, below.head)
    case Keeps(_, columns) => below.head.map(_.map(kept(_, columns)))
    case Shuffle(_, by) => below.head.map(shuffled(_, by))
    case Coalesce(_) => below.head.map(_.grouped(1 + random.nextInt(3)).map(_.flatten).toVector)
    case sort: Sort => below.head.map(_.map(sorted(_, sort)))
    case Union(_, columns) =>
      val each = below.zip(columns).map { case (batches, names) => batches.map(_.map(_.map(renamed(_, names)))) }
      (0 until Batches).map { batch =>
        val parts = each.map(_(batch))
        if (random.nextBoolean()) parts.flatten.toVector
        else (0 until parts.map(_.size).max).map(at => parts.flatMap(_.lift(at)).flatten.toVector).toVector
      }
    case Breaks(_, _) => below.head.map(parts => Vector(random.shuffle(parts.flatten)))
  }

  /** A column that tells lanes apart has the lane's number. Each task reads one lane, or a piece of one. */
  private def read(source: Source): Parts = {
    val lanes = if (source.lane.exists(_.isEmpty)) 1 else 1 + random.nextInt(3)
    Vector.tabulate(lanes) { lane =>
      val cuts = if (source.cut.isEmpty) Nil else Seq.fill(random.nextInt(3))(random.nextInt(8))
      val rows = Vector.tabulate(random.nextInt(8)) { number =>
        val values = Columns.map(column => column -> (if (source.lane.exists(_(column))) lane else random.nextInt(4)))
        Row(values.toMap, source.id, lane, cuts.count(_ <= number), number, Nil)
      }
      rows.groupBy(_.task).toVector.sortBy(_._1).map(_._2)
    }.flatten
  }

  /** Each batch emits the rows up to its watermark, which only rises. */
  private def ordered(made: InOrder, batches: Seq[Parts]): Seq[Parts] = {
    val rises = batches.map(_ => random.nextInt(4)).sorted
    var held = Vector.empty[Row]
    batches.zip(rises).zip(-1 +: rises).map { case ((parts, watermark), before) =>
      val rows = parts.flatten.map(row => row.copy(key = made.terms.map(value(row, _))))
      val emitted =
        if (!made.isOverBatches) rows
        else {
          val (late, taken) = rows.partition(_.key.head <= before)
          val (due, waiting) = (held ++ taken).partition(_.key.head <= watermark)
          held = waiting.toVector
          due ++ (if (made.passesLate) late else Nil)
        }
      val salt = random.nextInt()
      val gathered = emitted.groupBy(row => Math.floorMod((salt, agreed(row, made.by)).hashCode, 3)).values
      gathered.map(rows => sorted(rows.toVector, Sort("", plain(made.by) ++ made.terms, isStable = false))).toVector
    }
  }

  private def kept(rows: Vector[Row], columns: Map[ColumnId, ColumnId]): Vector[Row] =
    rows.flatMap(row =>
      Seq.fill(random.nextInt(5) match { case 0 => 0; case 1 => 2; case _ => 1 })(renamed(row, columns)))

  private def renamed(row: Row, columns: Map[ColumnId, ColumnId]): Row = {
    val values = columns.map { case (from, to) => to -> row.values(from) }
    row.copy(values = Columns.map(column => column -> values.getOrElse(column, random.nextInt(4))).toMap)
  }

  private def shuffled(parts: Parts, by: Option[Set[ColumnId]]): Parts = {
    val (salt, partitions) = (random.nextInt(), 1 + random.nextInt(3))
    def target(row: Row) = by.fold(random.nextInt(partitions)) { columns =>
      Math.floorMod((salt, agreed(row, columns)).hashCode, partitions)
    }
    val blocks = parts.map { rows => (if (by.isEmpty) random.shuffle(rows) else rows).groupBy(target) }
    Vector.tabulate(partitions)(part => interleaved(blocks.flatMap(_.get(part))))
  }

  /** The blocks in any order, rows of one also between those of others: more than a shuffle may do. */
  private def interleaved(blocks: Seq[Vector[Row]]): Vector[Row] = {
    val left = blocks.toArray
    Vector.fill(blocks.map(_.size).sum) {
      val at = random.shuffle(left.indices.filter(left(_).nonEmpty)).head
      val row = left(at).head
      left(at) = left(at).tail
      row
    }
  }

  private def sorted(rows: Vector[Row], sort: Sort): Vector[Row] = {
    (if (sort.isStable) rows else random.shuffle(rows)).sortBy { row =>
      sort.by.map(value(row, _))
    }(byAll)
  }

  private def value(row: Row, term: OrderTerm): Int =
    if (term.shape == Negated) -row.values(term.columns.head) else row.values(term.columns.head)
}

private[tidemark] object OrderSimulation {
  val Columns: Seq[ColumnId] = (0 until 4).map(n => ColumnId(n.toLong))
  val Batches = 3
  val Plain = 0
  val Negated = 1

  /** Columns as what rows are sorted by. */
  def plain(columns: Set[ColumnId]): Seq[OrderTerm] =
    columns.toSeq.sortBy(_.value).map(column => OrderTerm(s"c${column.value}", Plain, Seq(column)))

  type Parts = Vector[Vector[Row]]

  /** @param lane the part of the source whose `number`-th row it is
    * @param task which of the tasks that have read the lane
    * @param key what the last order sorted it by
    */
  final case class Row(values: Map[ColumnId, Int], source: Int, lane: Int, task: Int, number: Int, key: Seq[Int])

  /** The values of some columns, on which rows may agree. */
  private def agreed(row: Row, columns: Set[ColumnId]): Seq[Int] = columns.toSeq.sortBy(_.value).map(row.values)

  private val byAll: Ordering[Seq[Int]] = Ordering.Implicits.seqOrdering
  private def isSorted(numbers: Seq[Int]): Boolean = numbers == numbers.sorted
  private def isSortedBy(keys: Seq[Seq[Int]]): Boolean = keys == keys.sorted(byAll)
}
