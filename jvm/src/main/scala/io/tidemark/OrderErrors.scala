package io.tidemark

/** The refusals of `in_order`. */
object OrderErrors {
  import ErrorText._

  final case class InvalidOrder(reason: String) extends TidemarkError(
        "INVALID_ORDER",
        s"tidemark_in_order $reason.",
        "calling it as tidemark.in_order does: as a condition of a filter, with a time, its options as a JSON literal, and " +
          "the expressions to group by and to break ties by")

  final case class MisplacedOrder(operator: String) extends TidemarkError(
        "MISPLACED_ORDER",
        s"tidemark_in_order is part of another expression in $operator, where it would order nothing.",
        "calling tidemark.in_order, or by writing it as a condition of WHERE that AND joins with the others")

  final case class OrderNotEventTime(column: String, columns: Seq[String]) extends TidemarkError(
        "ORDER_NOT_EVENT_TIME",
        s"Rows cannot wait for the watermark of column '$column', which is not event time. " +
          eventTimeHere(columns),
        "naming a column with a watermark, or by wait=False, which orders each batch by itself")

  final case class OrderOfUpdates(column: String, operator: String) extends TidemarkError(
        "ORDER_OF_UPDATES",
        s"Rows cannot wait for the watermark of column '$column' above the $operator, which emits a group again and again.",
        "writing in append mode, or by wait=False")

  final case class OrderStateEncoding(column: String, encoding: String) extends TidemarkError(
        "ORDER_STATE_ENCODING",
        s"Rows cannot wait for the watermark of column '$column' in a state store with the encoding $encoding.",
        "setting spark.sql.streaming.stateStore.encodingFormat=unsaferow, which is the default, or by wait=False")

  final case class OrderStateChanged(reason: String) extends TidemarkError(
        "ORDER_STATE_CHANGED",
        s"Rows that wait in the checkpoint cannot be put in this order: $reason.",
        "undoing that change, or by starting with a new checkpoint")

  final case class OrderLost(operator: String, at: String, why: String) extends TidemarkError(
        "ORDER_LOST",
        s"The rows that $operator reads are in no known order, which ${TidemarkConf.RequireOrder.key}=true asks for. The order " +
          s"is lost at $at: $why.",
        "calling tidemark.in_order right below the operator, with wait=True and late='drop', by " +
          s"${TidemarkConf.Order.key}=event_time, by ${TidemarkConf.Order.key}=keep if each group comes from one partition or " +
          s"file of a source, or by ${TidemarkConf.RequireOrder.key}=false")

  final case class OrderNotAdded(setting: String, reason: String) extends TidemarkError(
        "ORDER_NOT_ADDED",
        s"With ${TidemarkConf.Order.key}=$setting rows cannot be put into event-time order here: $reason.",
        s"calling tidemark.in_order right below each function of groups and deduplication, and by ${TidemarkConf.Order.key}=spark; " +
          "or, if columns share a name, by renaming one")

  final case class OrderSettingChanged(setting: String, orders: Int, inCheckpoint: Int) extends TidemarkError(
        "ORDER_SETTING_CHANGED",
        s"With ${TidemarkConf.Order.key}=$setting the query puts its rows into event-time order in $orders places, but the " +
          s"checkpoint has state of $inCheckpoint such places. Rows that wait there would be lost, or state be read by " +
          "another operator.",
        s"setting ${TidemarkConf.Order.key} as it was when the query first ran, or by starting with a new checkpoint")
}
