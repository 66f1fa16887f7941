package io.tidemark.oracle

import Query._

/** The watermarks of one batch: of every column on every edge, and of every operator's inputs.
  *
  * @param byTheClock whether those go on that follow the clock
  */
private[oracle] final class Marks(
    nodes: Nodes,
    memory: Memory,
    now: Long,
    waiting: Set[Int],
    byTheClock: Boolean = true) {
  var own = Map.empty[MarkId, Mark]
  var closed = Map.empty[MarkId, Mark]
  var others = Map.empty[MarkId, Vector[(Int, Mark)]]
  var floors = Map.empty[(Int, Int), Mark]
  var sources = memory.sources
  of(nodes.query)

  /** The sum over each operator's inputs; it grows when an operator goes on. */
  def progress: Map[Int, Long] = own.groupMapReduce(_._1.node)(_._2.spark)(_ + _)

  private def origin(node: Int, rules: Input): Mark = {
    // Rows have come since the last batch began, and their splits are unknown.
    val known = if (waiting(rules.number)) math.min(memory.last, now) else now
    val asked = if (byTheClock || !rules.advances) rules else rules.copy(advances = false, rises = true)
    val (source, mark) = memory.sources.getOrElse(node, Source()).idleAt(known, asked, memory.begun)
    // Before the first batch of a run there was nothing, or it would have run sooner.
    sources += node -> source.lookedAt(if (memory.canGoOn) known else now)
    mark
  }

  private def of(node: Query): Edge = {
    val at = nodes.number(node)
    node match {
      case input: Input if input.leftover => Edge.of(Mark.none)
      case input: Input => Edge.of(origin(at, input))
      case Without(input, _) => of(input)
      case Limited(input) => of(input)
      case Through(input, carrier) if carrier.isFollowed => of(input)
      case Through(input, _) =>
        val in = of(input)
        in.copy(columns = in.columns.indices.map(floored(at, _, in.least)).toVector)
      case Again(input, column, _) =>
        val (in, own) = (of(input), Mark(memory.sources.get(at).flatMap(_.reached)))
        Edge(in.columns.updated(column, own), in.least.least(own))
      case Running(input, _, _) =>
        val own = Mark(memory.sources.get(at).flatMap(_.reached))
        Edge(Vector(own), of(input).least.least(own))
      case Union(left, right) =>
        val (l, r) = (of(left), of(right))
        val columns = l.columns.zip(r.columns).zipWithIndex.map { case ((l, r), column) =>
          floored(at, column, l.least(r))
        }
        Edge(columns, l.least.least(r.least))
      case Distinct(input, column) => keeping(at, of(input), column)
      case Once(input) => keeping(at, of(input), 0)
      case Groups(input, column, _) => Edge.of(keeping(at, of(input), column).columns(column))
      case Sessions(input, column, _, _) => Edge.of(keeping(at, of(input), column).columns(column))
      case Windows(input, column, _, by, _, _) =>
        val in = of(input).columns
        goes(MarkId(at, 0), in(column), in(column), by.map(c => c -> in(c)))
        Edge(in(column) +: by.map(carried(MarkId(at, 0), _)), in(column))
      case Ordered(input, column, _, _) =>
        val in = of(input).columns
        val others = in.indices.filterNot(_ == column).toVector
        goes(MarkId(at, 0), in(column), in(column), others.map(c => c -> in(c)))
        Edge(in.indices.map(c => if (c == column) in(c) else carried(MarkId(at, 0), c)).toVector, in(column))
      case join: Join => joined(at, join)
      case self: SelfJoin => joined(at, self.join)
    }
  }

  /** Where several inputs have come together it does not go back. */
  private def floored(at: Int, column: Int, mark: Mark): Mark = {
    val held = mark.atLeast(memory.floors.get((at, column)))
    floors += (at, column) -> held
    held
  }

  /** An operator that uses one of its columns as event time and carries none. */
  private def keeping(at: Int, in: Edge, column: Int): Edge = {
    goes(MarkId(at, 0), in.columns(column), in.columns(column), Vector.empty)
    in.copy(least = in.columns(column))
  }

  /** Nothing can be said of the rows that an idle side still has to bring: it is waited for, unless both are idle, or it is
    * told to follow the other.
    */
  private def joined(at: Int, join: Join): Edge = {
    val (toLeft, toRight) = (of(join.left), of(join.right))
    // As in Spark, of a side that has no watermark at all: the only one that there is.
    val left = toLeft.columns.map(_.orElse(toRight.columns(join.rightTime)))
    val right = toRight.columns.map(_.orElse(toLeft.columns(join.leftTime)))
    val bothIdle = (left ++ right).forall(_.isIdle)
    def waited(mark: Mark) = if (bothIdle) mark else mark.copy(isIdle = false)
    def own(place: MarkId, query: Query, self: Mark, other: Mark) =
      if (!follows(query)) waited(self)
      else {
        val far = if (self.isIdle && !bothIdle) Mark((self.millis ++ other.millis).maxOption) else waited(self)
        far.atLeast(memory.own.get(place))
      }
    val (inLeft, inRight) = (left(join.leftTime), right(join.rightTime))
    val l = own(MarkId(at, 0), join.left, inLeft, inRight)
    val r = own(MarkId(at, 1), join.right, inRight, inLeft)
    // A row of the left is of no use once the right has come past all that would match it, and the other way round. A
    // range is taken for open at its ends.
    val open = if (join.isByKey) 0 else 1
    val (leftClosed, rightClosed) = (r.plus(-join.most * 1000L - open), l.plus(join.least * 1000L - open))
    def side(place: MarkId, in: Vector[Mark], time: Int, own: Mark, closed: Mark): Vector[Mark] = {
      val rest = in.indices.filterNot(_ == time).toVector
      goes(place, own, closed, rest.map(c => c -> in(c)))
      in.indices.map(c => if (c == time) own.earlier(closed) else carried(place, c)).toVector
    }
    val outLeft = side(MarkId(at, 0), left, join.leftTime, l, leftClosed)
    val outRight = side(MarkId(at, 1), right, join.rightTime, r, rightClosed)
    val out = if (join.kind == "left_semi") outLeft else outLeft ++ outRight
    Edge(out, out.reduce(_ least _))
  }

  private def follows(side: Query): Boolean = side.nodes.forall {
    case input: Input => input.follows
    case _: Again | _: Running => false
    case _ => true
  }

  private def goes(place: MarkId, own: Mark, closed: Mark, others: Vector[(Int, Mark)]): Unit = {
    this.own += place -> own
    this.closed += place -> closed
    this.others += place -> others
  }

  private def carried(place: MarkId, column: Int): Mark = memory.carried.getOrElse((place, column), Mark.unknown)
}

/** What flows along an edge: the watermark of each column, and the least of all that flowed in. */
private[oracle] final case class Edge(columns: Vector[Mark], least: Mark)
private[oracle] object Edge {
  def of(only: Mark): Edge = Edge(Vector(only), only)
}

/** The operators of a query, by where they are: two that look the same are two. */
private[oracle] final class Nodes(val query: Query) {
  private val all = query.nodes.toVector

  def apply(number: Int): Query = all(number)
  def origins: Seq[(Int, Input)] = all.zipWithIndex.collect {
    case (input: Input, at) if !input.leftover => at -> input
  }
  def number(of: Query): Int = all.indexWhere(_ eq of)
}
