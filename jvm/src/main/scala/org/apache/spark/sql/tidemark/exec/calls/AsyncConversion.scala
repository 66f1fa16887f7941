package org.apache.spark.sql.tidemark.exec.calls

import java.util.concurrent.{CompletionException, ExecutionException}

import scala.util.Try
import scala.util.control.NonFatal

import io.tidemark.{AsyncErrors, TidemarkException}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnsafeProjection}
import org.apache.spark.sql.types.{StructField, StructType}

/** Rows of Spark's to what a function of [[AsyncMapExec]] is given, and what it returns to a row of one column.
  *
  * @param below the columns of a row
  * @param result the new column
  */
private[exec] final class AsyncConversion(
    inputs: Seq[Expression],
    below: Seq[Attribute],
    result: Attribute,
    names: Seq[String]) {
  import AsyncConversion._

  private val width = inputs.size
  private val column = result.name
  private val project = UnsafeProjection.create(inputs, below)
  private val read = {
    val unique = if (names.distinct.size == names.size) names else names.indices.map(place => s"_${place + 1}")
    val fields = inputs.zip(unique).map { case (input, name) => StructField(name, input.dataType) }
    ExpressionEncoder(StructType(fields)).resolveAndBind().createDeserializer()
  }
  private val write = ExpressionEncoder(StructType(Seq(StructField("result", result.dataType)))).createSerializer()

  val none: InternalRow = InternalRow(null)

  def inputsOf(row: InternalRow): Row = read(project(row))

  /** Whether all inputs of a row are null. */
  def hasNoInputs(row: InternalRow): Boolean = {
    val found = project(row)
    var place = 0
    while (place < width && found.isNullAt(place)) place += 1
    place == width
  }

  /** The inputs of a row as bytes, which are equal for equal inputs. */
  def bytesOf(row: InternalRow): Array[Byte] = project(row).getBytes

  /** A row of its own with the result, or an error that names the inputs. */
  def written(called: Row, value: Any): InternalRow =
    try write(Row(value)).copy()
    catch {
      case NonFatal(error) =>
        // Spark wraps what is wrong, and the innermost says it in one line.
        val cause = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).toSeq.last
        throw new TidemarkException(
          AsyncErrors.AsyncResultType(column, described(called), result.dataType.sql, oneLine(cause)),
          error)
    }

  def failed(called: Row, attempts: Int, ended: Throwable): TidemarkException = {
    val error = unwrapped(ended)
    new TidemarkException(
      AsyncErrors.AsyncCallFailed(column, described(called), attempts, oneLine(error)),
      printable(error))
  }

  /** @param slots what calls hold that should have ended, of which this row's is the oldest */
  def stuck(called: Row, slots: String, timeoutMillis: Long): TidemarkException =
    new TidemarkException(AsyncErrors.AsyncSlotsStuck(column, slots, described(called), timeoutMillis / 1000.0))

  /** The inputs of a row in words, cut to what a message can hold. */
  def described(called: Row): String = {
    val text = names.zip(called.toSeq).map { case (name, value) => s"$name=$value" }.mkString(", ")
    if (text.length <= Longest) text else text.take(Longest) + "..."
  }
}

private object AsyncConversion {
  val Longest = 200
  private val LongestReason = 1000

  /** What a `Future` has wrapped: Scala's does it with an `Error`, and one made of Java's with all. */
  @scala.annotation.tailrec
  def unwrapped(error: Throwable): Throwable = error match {
    case _: ExecutionException | _: CompletionException if error.getCause != null => unwrapped(error.getCause)
    case other => other
  }

  /** An error with the first line of its text, which may be the whole answer of a service. */
  def oneLine(error: Throwable): String = {
    val text =
      try Option(error.getMessage).fold("")(message => s": ${message.linesIterator.nextOption().getOrElse("")}")
      catch { case NonFatal(another) => s": its text cannot be made (${another.getClass.getSimpleName})" }
    error.getClass.getSimpleName +
      (if (text.length <= LongestReason) text.stripSuffix(".") else text.take(LongestReason) + "...")
  }

  /** The error, or nothing if its text cannot be made. Spark's executor makes the texts of all causes before it tells the
    * driver that a task has failed (`ExceptionFailure`), and would not come to that.
    */
  def printable(error: Throwable): Throwable =
    if (Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(100).forall(failure =>
        Try(failure.toString).isSuccess))
      error
    else null
}
