package io.tidemark.oracle

/** A row of any query: an id, its event times (µs since the epoch), and how many rows of the inputs went into it. */
final case class Row(id: Int, times: Vector[Option[Long]], n: Long) {
  override def toString: String = s"$id@${times.map(_.fold("-")(_.toString)).mkString(",")}x$n"
}

object Row {
  private val Text = """(-?\d+)@(.*)x(\d+)""".r

  /** A row of its text. */
  def of(text: String): Row = {
    val Text(id, times, n) = text: @unchecked
    Row(id.toInt, times.split(',').toVector.map(_.toLongOption), n.toLong)
  }
}

/** A streaming query over inputs of ids and times. Every operator gives out an id, one or more event times, and a count,
  * so that each fits on top of any other. Lengths of time are seconds.
  */
sealed trait Query {
  def inputs: Seq[Query]

  /** For each event-time column, whether a row may be without it. */
  def nullable: Vector[Boolean]
  final def nodes: Seq[Query] = inputs.flatMap(_.nodes) :+ this

  /** Whether it asks for something that Spark alone does not have. */
  final def goesBeyondSpark: Boolean = nodes.exists {
    case input: Query.Input => !input.leftover && input != Query.Input(input.number, input.delay)
    case _: Query.Ordered => true
    case _ => false
  }
}

object Query {

  /** With the columns of its one input. */
  sealed trait OnRows extends Query {
    def input: Query
    final def inputs: Seq[Query] = Seq(input)
    final def nullable: Vector[Boolean] = input.nullable
  }

  /** @param idleAfter after which silence it is left out, if ever, or a split of it
    * @param splits the ids that are splits of it from the beginning on, if each id is a split
    * @param catchesUp whether a split that comes back behind the watermark is left out until it has caught up
    * @param rises whether its splits become idle also when none of them has rows, and the watermark rises to the largest clock
    * @param advances whether the watermark then follows the clock
    * @param follows whether a side of a join with nothing but such inputs goes as far as the other one while it is idle
    * @param leftover whether it has no watermark, and its schema bears the mark of another query's
    */
  final case class Input(
      number: Int,
      delay: Int,
      idleAfter: Option[Int] = None,
      splits: Option[Set[Int]] = None,
      catchesUp: Boolean = false,
      rises: Boolean = false,
      advances: Boolean = false,
      follows: Boolean = false,
      leftover: Boolean = false)
      extends Query {
    def inputs: Seq[Query] = Nil
    def nullable: Vector[Boolean] = Vector(false)
    def holds: Boolean = !rises && !advances
  }

  /** All rows as they are, in other columns: what changes is how Spark's mark of event time travels. */
  final case class Through(input: Query, carrier: Carrier) extends OnRows

  /** Without the ids that leave `rest` when divided by three. */
  final case class Without(input: Query, rest: Int) extends OnRows

  /** With a limit that is never reached: an operator that uses no event time. */
  final case class Limited(input: Query) extends OnRows

  /** A watermark on a column that has one already. */
  final case class Again(input: Query, column: Int, delay: Int) extends OnRows

  /** Of queries with equally many columns. */
  final case class Union(left: Query, right: Query) extends Query {
    def inputs: Seq[Query] = Seq(left, right)
    def nullable: Vector[Boolean] = left.nullable.zip(right.nullable).map { case (l, r) => l || r }
  }

  /** Equal ids, and the right time from `least` to `most` after the left one; where both are 0 the times are equal, which
    * makes them a part of the key by which rows are looked up.
    *
    * @param kind `inner`, `left_outer`, `right_outer`, `full_outer` or `left_semi`
    */
  final case class Join(kind: String, left: Query, right: Query, leftTime: Int, rightTime: Int, least: Int, most: Int)
      extends Query {
    def inputs: Seq[Query] = Seq(left, right)
    def isByKey: Boolean = least == 0 && most == 0
    def keepsLeft: Boolean = Set("left_outer", "full_outer").contains(kind)
    def keepsRight: Boolean = Set("right_outer", "full_outer").contains(kind)
    def nullable: Vector[Boolean] = {
      val (l, r) = (left.nullable.map(_ || keepsRight), right.nullable.map(_ || keepsLeft))
      if (kind == "left_semi") l else l ++ r
    }
  }

  /** A common table expression that is joined with itself: its rows are read twice, and its origins have one clock. Nothing
    * below keeps state.
    */
  final case class SelfJoin(kind: String, input: Query, leftTime: Int, rightTime: Int, least: Int, most: Int)
      extends Query {
    val join: Join = Join(kind, input, input, leftTime, rightTime, least, most)
    def inputs: Seq[Query] = Seq(input)
    def nullable: Vector[Boolean] = join.nullable
  }

  /** Counts by tumbling window, by other event-time columns, and by id (else the least id comes out). The time of a count
    * is the last µs of its window.
    *
    * @param updates whether counts come out in every batch in which they change (of a whole query), and not when they are
    *   over
    */
  final case class Windows(
      input: Query,
      column: Int,
      length: Int,
      others: Vector[Int],
      byId: Boolean,
      updates: Boolean = false)
      extends Query {
    def inputs: Seq[Query] = Seq(input)
    def nullable: Vector[Boolean] = false +: others.map(input.nullable)
  }

  /** Counts by session and id; a row's session lasts until it has been silent for so long. The time of a count is the last
    * µs of its session.
    *
    * @param longer whether ids with a greater number may be silent for longer
    */
  final case class Sessions(input: Query, column: Int, gap: Int, longer: Boolean) extends Query {
    def inputs: Seq[Query] = Seq(input)
    def nullable: Vector[Boolean] = Vector(false)
    def gapOf(id: Int): Int = if (longer) gap + id else gap
  }

  /** Each row once, by all that is in it; `column` is its event time. */
  final case class Distinct(input: Query, column: Int) extends OnRows

  /** The first row of each id, and after it none until the watermark is as far behind its time as a row may be late. In the
    * order in which rows come: on top of one input.
    */
  final case class Once(input: Query) extends OnRows {
    def delay: Int =
      nodes.collect { case it: Input => it.delay; case it: Again => it.delay; case it: Running => it.delay }.last
  }

  /** How many rows of each id there were so far, with the largest time of those in the batch. The function with state keeps
    * it forever, drops no row, and knows no event time. What it emits gets a watermark of its own.
    */
  final case class Running(input: Query, column: Int, delay: Int) extends Query {
    def inputs: Seq[Query] = Seq(input)
    def nullable: Vector[Boolean] = Vector(false)
  }

  /** Counts by id, in a function with state, that come out when an id's time is so far behind the watermark. Of a whole
    * query: what comes out has no event time. Its time is the timer, in ms.
    */
  final case class Groups(input: Query, column: Int, gap: Int) extends Query {
    def inputs: Seq[Query] = Seq(input)
    def nullable: Vector[Boolean] = Vector(false)
  }

  /** Rows wait until the watermark of a column has passed them. A row without that time does not wait.
    *
    * @param by what groups have in common, each of which is in order; without any, all rows are one group
    * @param ties what decides between rows of the same time
    */
  final case class Ordered(input: Query, column: Int, by: Vector[Value], ties: Vector[Value]) extends OnRows {

    /** Whether the rows of one batch are in this order: each group together, a row without that time first. */
    def isOf(rows: Seq[Row]): Boolean = {
      val groups = rows.map(row => by.map(_.of(row)))
      val begun = groups.zip(groups.drop(1)).count { case (group, next) => group != next } + math.min(rows.size, 1)
      val sorted = rows.groupBy(row => by.map(_.of(row))).values.forall { group =>
        val keys = group.map(row => (Value.Time(column) +: ties).map(_.of(row)))
        keys == keys.sorted(Ordering.Implicits.seqOrdering[Vector, Option[Long]])
      }
      begun == groups.distinct.size && sorted
    }
  }

  /** A value of a row. */
  sealed trait Value {
    def of(row: Row): Option[Long] = this match {
      case Value.Id => Some(row.id.toLong)
      case Value.Count => Some(row.n)
      case Value.Time(column) => row.times(column)
    }
  }
  object Value {
    case object Id extends Value
    case object Count extends Value
    final case class Time(column: Int) extends Value
  }

  /** The same operator on other inputs, of the same number. */
  def onInputs(query: Query, inputs: Seq[Query]): Query = query match {
    case it: Input => it
    case it: Without => it.copy(input = inputs.head)
    case it: Limited => it.copy(input = inputs.head)
    case it: Through => it.copy(input = inputs.head)
    case it: Again => it.copy(input = inputs.head)
    case it: Union => it.copy(inputs.head, inputs(1))
    case it: Join => it.copy(left = inputs.head, right = inputs(1))
    case it: SelfJoin => it.copy(input = inputs.head)
    case it: Windows => it.copy(input = inputs.head)
    case it: Sessions => it.copy(input = inputs.head)
    case it: Distinct => it.copy(input = inputs.head)
    case it: Once => it.copy(input = inputs.head)
    case it: Running => it.copy(input = inputs.head)
    case it: Groups => it.copy(input = inputs.head)
    case it: Ordered => it.copy(input = inputs.head)
  }
}

/** One trigger of a query: the clock moves on by some seconds, and then what has come is read.
  *
  * @param rows for each input ids and times, in seconds
  */
final case class Step(seconds: Int, rows: Map[Int, Seq[(Int, Int)]], restart: Boolean = false)

/** A query with all that ever happens to it. */
final case class Case(query: Query, steps: Seq[Step])
