import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.archive.Archive;
import io.aeron.cluster.ClusterClientSession;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusControlState;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.ConsensusModuleControl;
import io.aeron.cluster.ConsensusModuleExtension;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.ControlledFragmentHandler.Action;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.ShutdownSignalBarrier;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * An official member in one process with an extension in place of services, configured by system properties.
 *
 * <p>The extension adds up the numbers that clients send, and tells the sum to the session that a message names: the same as
 * tests/cluster/module/summing_extension.py.
 */
final class ExtensionNode
{
    private static final int SCHEMA_ID = 4711;
    private static final int HEADER_LENGTH = 8;
    private static final int BODY_LENGTH = 16;

    public static void main(final String[] arguments)
    {
        try (ShutdownSignalBarrier barrier = new ShutdownSignalBarrier();
            ClusteredMediaDriver node = ClusteredMediaDriver.launch(
                new MediaDriver.Context().terminationHook(barrier::signalAll),
                new Archive.Context(),
                new ConsensusModule.Context()
                    .serviceCount(0)
                    .consensusModuleExtension(new Summing())
                    .errorHandler(Throwable::printStackTrace)
                    .terminationHook(barrier::signalAll)))
        {
            System.out.println("{\"event\": \"started\", \"member\": " + node.consensusModule().context().clusterMemberId() + "}");
            barrier.await();
        }
    }

    private static final class Summing implements ConsensusModuleExtension
    {
        private final UnsafeBuffer answer = new UnsafeBuffer(new byte[HEADER_LENGTH + BODY_LENGTH]);
        private ConsensusModuleControl control;
        private ConsensusControlState state;
        private long total;

        @Override
        public int supportedSchemaId()
        {
            return SCHEMA_ID;
        }

        @Override
        public void onStart(final ConsensusModuleControl control, final Image snapshotImage)
        {
            this.control = control;
            while (null != snapshotImage && !snapshotImage.isEndOfStream())
            {
                snapshotImage.poll((buffer, offset, length, header) -> total = buffer.getLong(offset), 10);
                control.idleStrategy().idle();
            }
        }

        @Override
        public int doWork(final long nowNs)
        {
            return 0;
        }

        @Override
        public int slowTickWork(final long nowNs)
        {
            return 0;
        }

        @Override
        public int consensusWork(final long nowNs)
        {
            if (null == state || !state.isLeader())
            {
                return 0;
            }
            final long committed = control.aeron().countersReader().getCounterValue(control.commitPositionCounterId());
            return state.leaderLogSubscription().imageAtIndex(0).boundedPoll(this::onOwnLog, committed, 10);
        }

        @Override
        public void onElectionComplete(final ConsensusControlState consensusControlState)
        {
            state = consensusControlState;
        }

        @Override
        public void onNewLeadershipTerm(final ConsensusControlState consensusControlState)
        {
        }

        @Override
        public Action onIngressExtensionMessage(
            final int actingBlockLength,
            final int templateId,
            final int schemaId,
            final int actingVersion,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            if (null == state || !state.isLeader())
            {
                return Action.CONTINUE;
            }
            return state.logPublication().offer(buffer, offset, length) > 0 ? Action.CONTINUE : Action.ABORT;
        }

        @Override
        public Action onLogExtensionMessage(
            final int actingBlockLength,
            final int templateId,
            final int schemaId,
            final int actingVersion,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            total += buffer.getLong(offset);
            return Action.CONTINUE;
        }

        @Override
        public void close()
        {
        }

        @Override
        public void onSessionOpened(final long clusterSessionId)
        {
        }

        @Override
        public void onSessionClosed(final long clusterSessionId, final CloseReason closeReason)
        {
        }

        @Override
        public void onPrepareForNewLeadership()
        {
            state = null;
        }

        @Override
        public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
        {
            final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Long.BYTES]);
            buffer.putLong(0, total);
            while (snapshotPublication.offer(buffer) < 0)
            {
                control.idleStrategy().idle();
            }
        }

        private void onOwnLog(final DirectBuffer buffer, final int offset, final int length, final Header header)
        {
            if (SCHEMA_ID != buffer.getShort(offset + 4))
            {
                return;
            }
            total += buffer.getLong(offset + HEADER_LENGTH);
            final long sessionId = buffer.getLong(offset + HEADER_LENGTH + Long.BYTES);
            final ClusterClientSession session = control.getClientSession(sessionId);
            if (null != session)
            {
                session.timeOfLastActivityNs(control.timeUnit().toNanos(control.time()));
                answer.putBytes(0, buffer, offset, HEADER_LENGTH + BODY_LENGTH);
                answer.putLong(HEADER_LENGTH, total);
                session.responsePublication().offer(answer);
            }
        }
    }
}
