package io.tidemark.oracle

import scala.util.Random

import Query._

/** Puts orders into a query that was drawn without. */
private[oracle] final class RandomOrders(random: Random) {

  /** With one order at least. */
  def in(query: Query): Query = Iterator.continually(visit(query)).find(_.nodes.exists(_.isInstanceOf[Ordered])).get

  private def visit(query: Query): Query = {
    val inner = query match {
      // What these emit of an id depends on the order in which its rows come.
      case _: Once | _: Running => query
      case other => onInputs(other, other.inputs.map(visit))
    }
    if (random.nextInt(3) > 0 || !mayBeOrdered(query)) inner
    else {
      val values = random.shuffle(Vector(Value.Id, Value.Count) ++ query.nullable.indices.map(Value.Time(_)))
      val by = random.nextInt(4) match {
        case 0 => Vector.empty
        case 1 => values.take(2)
        case _ => Vector(Value.Id)
      }
      Ordered(inner, random.nextInt(query.nullable.size), by, values.takeRight(random.nextInt(3)))
    }
  }

  private def mayBeOrdered(query: Query): Boolean = query.nodes.forall {
    // What comes of it has no event time.
    case _: Groups => false
    // A window comes again and again.
    case counts: Windows => !counts.updates
    case input: Input => !input.leftover
    case _ => true
  }
}
