package org.apache.spark.sql.tidemark.support

/** A number that `make fuzz` sets, such as how many cases to run. */
object FuzzNumber {
  def apply(name: String, otherwise: Int): Int = sys.props.get(s"tidemark.fuzz.$name").fold(otherwise)(_.toInt)
}
