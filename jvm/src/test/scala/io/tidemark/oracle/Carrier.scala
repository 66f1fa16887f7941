package io.tidemark.oracle

import Query._

/** How the columns of a query get from one operator to the next, in the ways in which people write it.
  *
  * @param isFollowed whether each column that comes out is known to be one that went in; else it is event time because it
  *   bears Spark's mark, and no more is known of it than of all that flowed in
  */
sealed abstract class Carrier(val isFollowed: Boolean)

object Carrier {

  /** Every column has another name, and then yet another. */
  case object Renamed extends Carrier(true)

  /** `a.time` of an aliased data frame, and names with dots in them. */
  case object Dotted extends Carrier(true)

  /** `select *` around it, twice. */
  case object Starred extends Carrier(true)

  /** A view and SQL over it. */
  case object View extends Carrier(true)

  /** A common table expression that is read once. */
  case object Table extends Carrier(true)

  /** A struct of all columns, opened again directly above. */
  case object Struct extends Carrier(true)

  /** The same with something between that keeps the optimizer from taking it away. */
  case object StructAcross extends Carrier(false)

  /** An array with that struct in it: `explode`, then `e.time`. */
  case object Exploded extends Carrier(false)

  /** `explode(transform(array, x -> struct(...)))`. */
  case object Transformed extends Carrier(false)

  /** `inline(array(struct(...)))`. */
  case object Inlined extends Carrier(false)

  /** `mapInPandas`, told the schema that it has been given, with other names. */
  case object PandasMap extends Carrier(false)

  /** `mapInArrow`, the same. */
  case object ArrowMap extends Carrier(false)

  /** `map` of rows, whose columns get the metadata of that schema. */
  case object RowMap extends Carrier(false)

  /** A column with results of asynchronous calls. Each row is kept by its own result, and the column is dropped again. */
  sealed abstract class Calls(val keepsOrder: Boolean) extends Carrier(true)

  case object Called extends Calls(keepsOrder = true)
  case object CalledUnordered extends Calls(keepsOrder = false)

  /** One call at a time for each id, the rows of which are put together for it. */
  case object CalledByKey extends Calls(keepsOrder = false)

  val calls: Vector[Calls] = Vector(Called, CalledUnordered, CalledByKey)

  val all: Vector[Carrier] =
    Vector(
      Renamed,
      Dotted,
      Starred,
      View,
      Table,
      Struct,
      StructAcross,
      Exploded,
      Transformed,
      Inlined,
      PandasMap,
      ArrowMap,
      RowMap)

  /** Whether a watermark has begun somewhere below. */
  def isTimed(query: Query): Boolean = query.nodes.exists {
    case input: Input => !input.leftover
    case _: Again | _: Running => true
    case _ => false
  }

  /** Whether what is left to know of a column is what is known of it: all that flows there is its own watermark. What is
    * in a struct may be followed or not; of that no more is asked.
    */
  def fits(carrier: Carrier, input: Query): Boolean = carrier match {
    case PandasMap | ArrowMap | RowMap => true
    case other => other.isFollowed || isOne(input)
  }

  /** A watermark on one of several columns. As in Spark it takes the mark off the others, but for those that are known. */
  def isLastOfSeveral(query: Query): Boolean = query match {
    case again: Again => again.nullable.size > 1
    case _ => false
  }

  /** Whether every column of every operator of it is event time. */
  def isWhole(query: Query): Boolean = query.nodes.filter(isLastOfSeveral).flatMap(_.nodes).forall {
    case input: Input => !input.leftover
    case Through(_, carrier) => carrier.isFollowed
    case _ => true
  }

  private def isOne(query: Query): Boolean = query.nullable.size == 1 &&
    (query match {
      case _: Again | _: Running => false
      case _: Input | _: Windows | _: Sessions | _: Groups | _: Distinct | _: Once | _: Join => true
      case other => other.inputs.forall(isOne)
    })
}
