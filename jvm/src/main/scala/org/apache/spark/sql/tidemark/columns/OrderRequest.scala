package org.apache.spark.sql.tidemark.columns

import io.tidemark.{OrderErrors, TidemarkException}

/** What a call of `tidemark_in_order` asks for besides its columns.
  *
  * @param thenBy how many of the last arguments decide between rows of the same time
  */
private[tidemark] final case class OrderRequest(thenBy: Int, waits: Boolean, dropsLate: Boolean)

private[tidemark] object OrderRequest {
  private val known = Set("then", "wait", "late")

  /** @throws TidemarkException if the text is not valid options */
  def parse(json: String, arguments: Int): OrderRequest = {
    val options = JsonOptions.read(json, known)(invalid)
    OrderRequest(
      options.field("then").fold(0) { value =>
        if (value.isIntegralNumber && value.canConvertToInt && value.asInt >= 0 && value.asInt <= arguments) value.asInt
        else throw invalid(s"has the option 'then', which is not a number from 0 to $arguments")
      },
      options.flag("wait").getOrElse(true),
      options.text("late").forall {
        case "drop" => true
        case "pass" => false
        case other => throw invalid(s"has the option 'late' with '$other', which is neither drop nor pass")
      })
  }

  def invalid(why: String): TidemarkException = new TidemarkException(OrderErrors.InvalidOrder(why))
}
