package org.apache.spark.sql.tidemark.status

import java.util.UUID

/** The report of one run of a query.
  * @param json what `tidemark_report` returns
  * @param loggedMillis when it was made, if it comes from an event log
  */
private[tidemark] final case class RunReport(
    id: UUID,
    runId: UUID,
    hasEnded: Boolean,
    json: String,
    loggedMillis: Option[Long] = None)
