package io.tidemark.core.history

/** A query after one batch, as plain numbers. Immutable.
  *
  * @param batch the batch that has ended
  * @param timeMillis when it ended, ms since the epoch
  * @param lateRows how many of its rows were late, over all operators
  * @param stateRows how many rows all operators together had in state after it
  */
final class Moment private (
    val batch: Long,
    val timeMillis: Long,
    val lateRows: Long,
    val stateRows: Long,
    packed: Array[Long]) {
  import Moment._

  /** How many inputs it has numbers of. */
  def size: Int = packed.length / Width

  /** @param index of the input, in the order of [[History.names]] */
  def input(index: Int): InputMoment = {
    val at = index * Width
    val splits = packed(at + 2)
    InputMoment(known(packed(at)), known(packed(at + 1)), (splits >>> 32).toInt, splits.toInt)
  }

  def inputs: Seq[InputMoment] = Seq.tabulate(size)(input)

  /** The same, at `millis` if it was before. */
  def notBefore(millis: Long): Moment =
    if (timeMillis >= millis) this else new Moment(batch, millis, lateRows, stateRows, packed)

  override def equals(other: Any): Boolean = other match {
    case that: Moment =>
      batch == that.batch && timeMillis == that.timeMillis && lateRows == that.lateRows &&
      stateRows == that.stateRows &&
      java.util.Arrays.equals(packed, that.values)
    case _ => false
  }

  override def hashCode: Int = (batch, timeMillis).hashCode

  override def toString: String = s"Moment($batch, $timeMillis, $lateRows, $stateRows, ${inputs.mkString(", ")})"

  private def values: Array[Long] = packed
}

object Moment {

  /** One input after a batch. Times are ms since the epoch, and `None` if there is none yet.
    * @param active how many of its splits are neither idle nor catch up; 0 if the input has no splits
    * @param idle how many of its splits are idle
    */
  final case class InputMoment(watermarkMillis: Option[Long], maxEventTimeMillis: Option[Long], active: Int, idle: Int)

  // Numbers for each input. 512 moments of 32 inputs are 400 kB, where objects would be several MB.
  private val Width = 3
  private val Unknown = Long.MinValue

  def apply(batch: Long, timeMillis: Long, lateRows: Long, stateRows: Long, inputs: Seq[InputMoment]): Moment = {
    val packed = inputs.iterator.flatMap { input =>
      Iterator(
        input.watermarkMillis.getOrElse(Unknown),
        input.maxEventTimeMillis.getOrElse(Unknown),
        (input.active.toLong << 32) | (input.idle & 0xffffffffL))
    }
    new Moment(batch, timeMillis, lateRows, stateRows, packed.toArray)
  }

  private def known(value: Long): Option[Long] = Option.when(value != Unknown)(value)
}
