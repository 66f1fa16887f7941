package io.tidemark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.tidemark.exec.{
  EndOrders,
  NoteTimeStrategy,
  OperatorInputStrategy,
  PlanWatermarks,
  SplitByStrategy
}
import org.apache.spark.sql.tidemark.exec.calls.{AsyncMapStrategy, SeeCalls}
import org.apache.spark.sql.tidemark.exec.order.InOrderStrategy
import org.apache.spark.sql.tidemark.functions.{
  CheckEventTimePlacement,
  CheckKeyedCalls,
  CurrentWatermark,
  DropRepeatedWatermarks,
  EventTimeFunction,
  InOrderFunction,
  IsLate,
  KeepMarksOfOtherColumns,
  NoteTimeFunction,
  RemoveWatermarkOptions,
  ResolveEventTimes,
  ResolveInOrder,
  ResolveNoteTimes,
  ResolveWatermarkExpressions,
  TimeWindow
}
import org.apache.spark.sql.tidemark.optimizer.{NormalizeKeysOfCalls, PushFiltersThroughCalls, RemoveSplitMarkers}
import org.apache.spark.sql.tidemark.planning.SortByEventTime
import org.apache.spark.sql.tidemark.query.{ApplyWatermarks, RequireOrder}
import org.apache.spark.sql.tidemark.report.{
  CorrectionStrategy,
  CorrectionTable,
  DrawingFunction,
  ExplainFunction,
  LogTable,
  MarksTable,
  OffsetsTable,
  ReportFunction,
  SettingsFunction,
  VersionFunction
}
import org.apache.spark.sql.tidemark.session.Compatibility
import org.apache.spark.sql.tidemark.ui.ListenForQueries

/** What goes into `spark.sql.extensions`.
  *
  * When Spark calls what is injected here:
  * {{{
  *   session begins      apply           versions are compared; an error stops the session with its text
  *   a plan is analyzed  resolution      tidemark_event_time becomes a column, its options and its splits
  *                                       current_watermark, is_late and tidemark_time_window find their column
  *                                       a watermark that is set twice in the same way is taken once
  *                                       a second withWatermark keeps the marks of the other columns
  *                                       a watermark's options stay in its plan, and are written nowhere
  *                                       tidemark_note_time and tidemark_in_order become nodes of the plan
  *   a plan is analyzed  check           calls with a key refused whose rows may be in several tasks
  *   a query is started  check           the takeover listener is added to this session's query manager
  *   query's own thread  (listener)      propagator put in place, before the first batch is planned
  *   each plan           optimizer       splits taken out while Tidemark is disabled
  *                                       filters pushed below asynchronous calls, and equal keys of calls made one
  *   each batch          optimizer       orders and operator inputs inserted (rules of the query's own session)
  *   each batch          strategy        watermarks, splits, orders, asynchronous calls and operator inputs planned
  *   each plan           columnar        asynchronous calls counted
  *   each batch          columnar        late and eviction watermarks written into the plan
  *                                       functions of groups, and deduplications, sorted by event time or as read
  *                                       nothing said of an order at the end of a plan
  *                                       queries that have lost their order refused, if that is asked for
  * }}}
  */
class TidemarkExtension extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    Compatibility.check()
    extensions.injectFunction(VersionFunction.description)
    extensions.injectFunction(ReportFunction.description)
    extensions.injectFunction(DrawingFunction.html)
    extensions.injectFunction(DrawingFunction.svg)
    extensions.injectFunction(SettingsFunction.description)
    extensions.injectFunction(ExplainFunction.description)
    extensions.injectFunction(EventTimeFunction.description)
    extensions.injectFunction(NoteTimeFunction.description)
    extensions.injectFunction(InOrderFunction.description)
    extensions.injectFunction(CurrentWatermark.description)
    extensions.injectFunction(IsLate.description)
    extensions.injectFunction(TimeWindow.description)
    extensions.injectTableFunction(LogTable.description)
    extensions.injectTableFunction(MarksTable.description)
    extensions.injectTableFunction(OffsetsTable.description)
    extensions.injectTableFunction(CorrectionTable.correct)
    extensions.injectTableFunction(CorrectionTable.forget)
    extensions.injectResolutionRule(_ => ResolveEventTimes)
    extensions.injectResolutionRule(_ => ResolveWatermarkExpressions)
    extensions.injectResolutionRule(_ => DropRepeatedWatermarks)
    extensions.injectResolutionRule(new KeepMarksOfOtherColumns(_))
    extensions.injectResolutionRule(_ => RemoveWatermarkOptions)
    extensions.injectResolutionRule(_ => ResolveNoteTimes)
    extensions.injectResolutionRule(_ => ResolveInOrder)
    extensions.injectCheckRule(_ => CheckEventTimePlacement)
    extensions.injectCheckRule(_ => CheckKeyedCalls)
    extensions.injectCheckRule(ListenForQueries(_))
    extensions.injectOptimizerRule(_ => RemoveSplitMarkers)
    extensions.injectOptimizerRule(_ => PushFiltersThroughCalls)
    extensions.injectPreCBORule(_ => NormalizeKeysOfCalls)
    extensions.injectPlannerStrategy(_ => CorrectionStrategy)
    extensions.injectPlannerStrategy(_ => OperatorInputStrategy)
    extensions.injectPlannerStrategy(_ => SplitByStrategy)
    extensions.injectPlannerStrategy(_ => NoteTimeStrategy)
    extensions.injectPlannerStrategy(_ => InOrderStrategy)
    extensions.injectPlannerStrategy(_ => AsyncMapStrategy)
    PlanWatermarks.inject(extensions)
    extensions.injectColumnar(_ => SeeCalls)
    extensions.injectColumnar(_ => SortByEventTime)
    extensions.injectColumnar(_ => EndOrders)
    extensions.injectColumnar(new RequireOrder(_))
    extensions.injectColumnar(new ApplyWatermarks(_))
  }
}
