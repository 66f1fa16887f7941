package io.tidemark

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.tidemark.exec.{NoteTimeStrategy, OperatorInputStrategy, PlanWatermarks, SplitByStrategy}
import org.apache.spark.sql.tidemark.functions.{
  CheckEventTimePlacement,
  CurrentWatermark,
  EventTimeFunction,
  IsLate,
  KeepMarksOfOtherColumns,
  NoteTimeFunction,
  RemoveWatermarkOptions,
  ResolveEventTimes,
  ResolveNoteTimes,
  ResolveWatermarkExpressions,
  TimeWindow
}
import org.apache.spark.sql.tidemark.query.ApplyWatermarks
import org.apache.spark.sql.tidemark.report.{
  ListenForQueries,
  LogTable,
  MarksTable,
  OffsetsTable,
  ReportFunction,
  SettingsFunction,
  VersionFunction
}
import org.apache.spark.sql.tidemark.session.Compatibility

/** What goes into `spark.sql.extensions`.
  *
  * When Spark calls what is injected here:
  * {{{
  *   session begins      apply           versions are compared; an error stops the session with its text
  *   a plan is analyzed  resolution      tidemark_event_time becomes a column, its options and its splits
  *                                       current_watermark, is_late and tidemark_time_window find their column
  *                                       a second withWatermark keeps the marks of the other columns
  *                                       a watermark's options stay in its plan, and are written nowhere
  *                                       tidemark_note_time becomes a node of the plan
  *   a query is started  check           the takeover listener is added to this session's query manager
  *   query's own thread  (listener)      propagator put in place, before the first batch is planned
  *   each batch          optimizer       operator inputs inserted (a rule of the query's own session)
  *   each batch          strategy        watermarks, splits and operator inputs planned
  *   each batch          columnar        late and eviction watermarks written into the plan
  * }}}
  */
class TidemarkExtension extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    Compatibility.check()
    extensions.injectFunction(VersionFunction.description)
    extensions.injectFunction(ReportFunction.description)
    extensions.injectFunction(SettingsFunction.description)
    extensions.injectFunction(EventTimeFunction.description)
    extensions.injectFunction(NoteTimeFunction.description)
    extensions.injectFunction(CurrentWatermark.description)
    extensions.injectFunction(IsLate.description)
    extensions.injectFunction(TimeWindow.description)
    extensions.injectTableFunction(LogTable.description)
    extensions.injectTableFunction(MarksTable.description)
    extensions.injectTableFunction(OffsetsTable.description)
    extensions.injectResolutionRule(new ResolveEventTimes(_))
    extensions.injectResolutionRule(_ => ResolveWatermarkExpressions)
    extensions.injectResolutionRule(new KeepMarksOfOtherColumns(_))
    extensions.injectResolutionRule(_ => RemoveWatermarkOptions)
    extensions.injectResolutionRule(_ => ResolveNoteTimes)
    extensions.injectCheckRule(_ => CheckEventTimePlacement)
    extensions.injectCheckRule(ListenForQueries(_))
    extensions.injectPlannerStrategy(_ => OperatorInputStrategy)
    extensions.injectPlannerStrategy(_ => SplitByStrategy)
    extensions.injectPlannerStrategy(_ => NoteTimeStrategy)
    PlanWatermarks.inject(extensions)
    extensions.injectColumnar(new ApplyWatermarks(_))
  }
}
