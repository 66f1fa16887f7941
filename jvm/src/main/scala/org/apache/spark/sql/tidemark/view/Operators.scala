package org.apache.spark.sql.tidemark.view

/** What a report says of the operators of a plan. */
private[view] object Operators {

  /** All operators of a plan, each before those that it reads. */
  def all(plan: Fields): Vector[Fields] = {
    val found = Vector.newBuilder[Fields]
    @annotation.tailrec
    def walk(left: List[Fields]): Unit = left match {
      case Nil =>
      case node :: more =>
        found += node
        walk(node.list("children").toList ++ more)
    }
    walk(List(plan))
    found.result()
  }

  /** Its kind and its number, such as `aggregation #2`. */
  def name(operator: Fields): String =
    operator.text("operator").getOrElse("?") + operator.long("id").fold("")(id => s" #$id")

  /** The least watermark of the event-time columns that it passes on. */
  def leastOut(operator: Fields): Option[Long] = {
    val columns = operator.list("columns").map(_.long("out_ms"))
    if (columns.isEmpty) operator.long("least_ms")
    else if (columns.exists(_.isEmpty)) None
    else columns.flatten.minOption
  }

  /** The operator itself, or each side of a join. */
  def sides(operator: Fields): Seq[Fields] = {
    val sides = operator.list("sides")
    if (sides.isEmpty) Seq(operator) else sides
  }

  /** How far the latest late row of an operator was behind, over the whole run. */
  def mostLate(operator: Fields): Option[Long] =
    sides(operator).flatMap(_.at("late").long("most_ms")).maxOption.filter(_ > 0)
}
