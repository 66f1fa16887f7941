package io.tidemark

/** The refusals and failures of `mapAsync`. */
object AsyncErrors {

  final case class AsyncCallFailed(column: String, inputs: String, attempts: Int, error: String) extends TidemarkError(
        "ASYNC_CALL_FAILED",
        s"The function of column '$column' was called ${if (attempts == 1) "once" else s"$attempts times"} with $inputs, " +
          s"and failed: $error.",
        "changing the function or its timeout, or by failsQuery = false, with which such a row has a null")

  final case class AsyncSlotsStuck(column: String, slots: String, inputs: String, seconds: Double)
      extends TidemarkError(
        "ASYNC_SLOTS_STUCK",
        s"Column '$column' can make no further call: what holds $slots has passed its time-out, and has not ended within " +
          s"$seconds seconds more. The oldest call was made with $inputs.",
        "completing each Future in the end, by a time-out of the client's own that is shorter than timeout")

  final case class AsyncResultType(column: String, inputs: String, dataType: String, reason: String)
      extends TidemarkError(
        "ASYNC_RESULT_TYPE",
        s"The function of column '$column' was called with $inputs, and its result is not of type $dataType: $reason.",
        "returning a value of that type, or by another type in returns")

  final case class AsyncServiceFailed(column: String, error: String) extends TidemarkError(
        "ASYNC_SERVICE_FAILED",
        s"The client of column '$column' could not be opened or closed: $error.",
        "opening it from the executors, or by correcting the function that opens it")

  final case class AsyncKeySpread(column: String, key: String) extends TidemarkError(
        "ASYNC_KEY_SPREAD",
        s"Column '$column' makes one call at a time for each $key, but rows with the same $key may be in several tasks, and " +
          "a task knows only its own calls.",
        "putting these rows into one task right below: by in_order with by=key, or by repartition(key)")

  final case class AsyncOutsideCall() extends TidemarkError(
        "ASYNC_OUTSIDE_CALL",
        "callId() was called where no call of mapAsync is begun.",
        "calling it in the function of mapAsync, before the Future, which runs in another thread")

  final case class AsyncOnConnect() extends TidemarkError(
        "UNSUPPORTED_ON_CONNECT",
        "mapAsync adds an operator to the plan, which a Spark Connect client cannot.",
        "using tidemark.map_async in Python, which works on Spark Connect")
}
