package io.tidemark.oracle

import scala.util.Random

import Query._

/** Puts asynchronous calls into a query that was drawn without: what comes of it is the same. */
private[oracle] final class RandomCalls(random: Random) {

  /** With one call at least. */
  def in(query: Query): Query = Iterator.continually(visit(query, keepsOrder = false)).find(hasCalls).get

  private def hasCalls(query: Query): Boolean = query.nodes.exists {
    case Through(_, _: Carrier.Calls) => true
    case _ => false
  }

  /** @param keepsOrder whether something above depends on the order in which rows come */
  private def visit(query: Query, keepsOrder: Boolean): Query = {
    val inner = onInputs(query, query.inputs.map(visit(_, keepsOrder || query.isInstanceOf[Once])))
    val fitting = Carrier.calls.filter(_.keepsOrder || !keepsOrder)
    if (isUpdating(query) || random.nextInt(3) > 0) inner else Through(inner, fitting(random.nextInt(fitting.size)))
  }

  /** In update mode nothing is above the counts but the sink. */
  private def isUpdating(query: Query): Boolean = query match {
    case counts: Windows => counts.updates
    case _ => false
  }
}
