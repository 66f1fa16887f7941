package io.tidemark.oracle

import scala.util.Random

import Query._

/** Puts carriers into a query that was drawn without. */
private[oracle] final class RandomCarriers(random: Random) {

  private def anyOf[A](all: A*): A = all(random.nextInt(all.size))

  def in(query: Query, oneWatermark: Boolean): Query = {
    val drawn = if (oneWatermark) withSecondInput(query) else if (random.nextInt(3) == 0) withLeftover(query) else query
    below(drawn, followed = false) match {
      // In update mode nothing is above them but the sink.
      case counts: Windows if counts.updates => counts
      case whole => through(whole, followed = false)
    }
  }

  /** @param followed whether columns have to be known, for something above makes event time of one of several only */
  private def below(query: Query, followed: Boolean): Query = {
    val read = onceRead(query)
    val inner = followed || Carrier.isLastOfSeveral(read)
    onInputs(read, read.inputs.map(input => through(below(input, inner), inner)))
  }

  /** Of a join of two inputs, now and then, one of an input with itself. */
  private lazy val readTwice = random.nextInt(3) == 0
  private def onceRead(query: Query): Query = query match {
    case it: Join if readTwice && isPlain(it.left) && isPlain(it.right) =>
      SelfJoin(it.kind, it.left, it.leftTime, it.leftTime, it.least, it.most)
    case other => other
  }

  /** Nothing above it keeps rows, or a watermark of its own. */
  private def isPlain(query: Query): Boolean = query match {
    case input: Input => !input.leftover
    case Without(input, _) => isPlain(input)
    case _ => false
  }

  private def through(query: Query, followed: Boolean): Query = {
    val fitting = Carrier.all.filter(carrier => Carrier.fits(carrier, query) && (carrier.isFollowed || !followed))
    Seq.fill(anyOf(0, 0, 1, 1, 2))(()).foldLeft(query)((below, _) => Through(below, anyOf(fitting: _*)))
  }

  /** One input of a join or of a union is without a watermark. */
  private def withLeftover(query: Query): Query = {
    var done = false
    def leave(side: Query): Query = side match {
      case input: Input if !done =>
        done = true
        Input(input.number, 0, leftover = true)
      case Without(input, rest) => Without(leave(input), rest)
      case other => visit(other)
    }
    def visit(node: Query): Query = node match {
      case it if Carrier.isLastOfSeveral(it) => it
      case _: Union | _: Join =>
        val order = random.shuffle(Seq(0, 1))
        onInputs(node, order.foldLeft(node.inputs)((inputs, at) => inputs.updated(at, leave(inputs(at)))))
      case other => onInputs(other, other.inputs.map(visit))
    }
    visit(query)
  }

  /** Of a query with one input: joined with itself, or with an input without a watermark, as the last operator. */
  private def withSecondInput(query: Query): Query =
    if (query.nullable.head || query.nodes.exists(_.isInstanceOf[Groups]) || isUpdating(query)) query
    else {
      val least = anyOf(-10, -5, 0)
      val most = if (least == 0 && random.nextBoolean()) 0 else least + anyOf(5, 10, 20)
      val kind = anyOf("inner", "left_outer", "right_outer", "full_outer", "left_semi")
      random.nextInt(4) match {
        case 0 if isPlain(query) => SelfJoin(kind, query, 0, 0, least, most)
        case 1 => Join(kind, query, Input(1, 0, leftover = true), 0, 0, least, most)
        case _ => query
      }
    }

  private def isUpdating(query: Query): Boolean = query match {
    case counts: Windows => counts.updates
    case _ => false
  }
}
