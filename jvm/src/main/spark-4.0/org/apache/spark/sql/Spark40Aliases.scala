package org.apache.spark.sql

// The engine uses the names of the newest Spark. Spark 4.1 moved many classes to new packages; these aliases give the
// classes of 4.0 the new names, so that all minors share one source.

package catalyst.plans {
  package object logical {
    type TransformWithStateInPySpark = TransformWithStateInPandas
  }
}

package execution.python {
  package object streaming {
    type TransformWithStateInPySparkExec = TransformWithStateInPandasExec
  }
}

package execution.streaming {
  import org.apache.spark.sql.execution.{streaming => flat, SparkPlan}

  object StreamingQueryPlanTraverseHelper {

    /** Streaming plans are never adaptive in Spark 4.0, so there is nothing to unfold. */
    def collectFromUnfoldedPlan[A](plan: SparkPlan)(found: PartialFunction[SparkPlan, A]): Seq[A] = plan.collect(found)
  }

  package object checkpointing {
    type CheckpointFileManager = flat.CheckpointFileManager
    type OffsetSeq = flat.OffsetSeq
    type OffsetSeqLog = flat.OffsetSeqLog
    type OffsetSeqMetadata = flat.OffsetSeqMetadata
    type FileSystemBasedCheckpointFileManager = flat.FileSystemBasedCheckpointFileManager
    val CheckpointFileManager: flat.CheckpointFileManager.type = flat.CheckpointFileManager
    val OffsetSeqMetadata: flat.OffsetSeqMetadata.type = flat.OffsetSeqMetadata
  }

  package object runtime {
    type AvailableNowDataStreamWrapper = flat.AvailableNowDataStreamWrapper
    type ErrorNotifier = flat.ErrorNotifier
    type FileStreamSource = flat.FileStreamSource
    type FileStreamSourceLog = flat.FileStreamSourceLog
    type IncrementalExecution = flat.IncrementalExecution
    type MicroBatchExecution = flat.MicroBatchExecution
    type MicroBatchExecutionContext = flat.MicroBatchExecutionContext
    type PropagateWatermarkSimulator = flat.PropagateWatermarkSimulator
    type StreamExecution = flat.StreamExecution
    type StreamingExecutionRelation = flat.StreamingExecutionRelation
    type StreamingRelation = flat.StreamingRelation
    type WatermarkPropagator = flat.WatermarkPropagator
    type WatermarkTracker = flat.WatermarkTracker
    val MicroBatchExecution: flat.MicroBatchExecution.type = flat.MicroBatchExecution
    val FileStreamSourceLog: flat.FileStreamSourceLog.type = flat.FileStreamSourceLog
    val MinWatermark: flat.MinWatermark.type = flat.MinWatermark
    val StreamExecution: flat.StreamExecution.type = flat.StreamExecution
    val WatermarkPropagator: flat.WatermarkPropagator.type = flat.WatermarkPropagator
  }

  package object sinks {
    type FileStreamSinkLog = flat.FileStreamSinkLog
    type SinkFileStatus = flat.SinkFileStatus
    val FileStreamSink: flat.FileStreamSink.type = flat.FileStreamSink
    val FileStreamSinkLog: flat.FileStreamSinkLog.type = flat.FileStreamSinkLog
  }

  package operators {
    package object stateful {
      type EventTimeStats = flat.EventTimeStats
      type EventTimeStatsAccum = flat.EventTimeStatsAccum
      type EventTimeWatermarkExec = flat.EventTimeWatermarkExec
      type SessionWindowStateStoreRestoreExec = flat.SessionWindowStateStoreRestoreExec
      type SessionWindowStateStoreSaveExec = flat.SessionWindowStateStoreSaveExec
      type StatefulOperatorCustomMetric = flat.StatefulOperatorCustomMetric
      type StatefulOperatorCustomSumMetric = flat.StatefulOperatorCustomSumMetric
      type StatefulOperatorStateInfo = flat.StatefulOperatorStateInfo
      type StateStoreSaveExec = flat.StateStoreSaveExec
      type StateStoreWriter = flat.StateStoreWriter
      type StreamingDeduplicateExec = flat.StreamingDeduplicateExec
      type StreamingDeduplicateWithinWatermarkExec = flat.StreamingDeduplicateWithinWatermarkExec
      type StreamingGlobalLimitExec = flat.StreamingGlobalLimitExec
      type StreamingLocalLimitExec = flat.StreamingLocalLimitExec
      type UpdateEventTimeColumnExec = flat.UpdateEventTimeColumnExec
      val EventTimeStats: flat.EventTimeStats.type = flat.EventTimeStats
      val StatefulOperatorCustomSumMetric: flat.StatefulOperatorCustomSumMetric.type =
        flat.StatefulOperatorCustomSumMetric
      val StatefulOperatorPartitioning: flat.StatefulOperatorPartitioning.type = flat.StatefulOperatorPartitioning
      val WatermarkSupport: flat.WatermarkSupport.type = flat.WatermarkSupport
    }

    package stateful {
      package object flatmapgroupswithstate {
        type FlatMapGroupsWithStateExec = flat.FlatMapGroupsWithStateExec
      }

      package object join {
        type StreamingSymmetricHashJoinExec = flat.StreamingSymmetricHashJoinExec
        val StreamingSymmetricHashJoinHelper: flat.StreamingSymmetricHashJoinHelper.type =
          flat.StreamingSymmetricHashJoinHelper
      }

      package object transformwithstate {
        type TransformWithStateExec = flat.TransformWithStateExec
      }
    }
  }
}
