import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.archive.Archive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.ShutdownSignalBarrier;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * An official member in one process: media driver, archive, consensus module and a service, by system properties.
 *
 * Argument: the service, {@code echo} or {@code counter}; what they do is said in benchmarks/cluster/services.py.
 */
final class ClusterMember
{
    private static final double NANOSECONDS = 1e9;

    public static void main(final String[] arguments)
    {
        final ClusteredService service = "echo".equals(arguments[0]) ? new Echo() : new Counter();
        try (ShutdownSignalBarrier barrier = new ShutdownSignalBarrier();
            ClusteredMediaDriver node = ClusteredMediaDriver.launch(
                new MediaDriver.Context().terminationHook(barrier::signalAll),
                new Archive.Context(),
                new ConsensusModule.Context().terminationHook(barrier::signalAll));
            ClusteredServiceContainer container = ClusteredServiceContainer.launch(new ClusteredServiceContainer.Context()
                .aeronDirectoryName(node.mediaDriver().aeronDirectoryName())
                .terminationHook(barrier::signalAll)
                .clusteredService(service)))
        {
            System.out.println("{\"event\": \"started\", \"service\": " + container.context().serviceId() + "}");
            barrier.await();
        }
    }

    private abstract static class Service implements ClusteredService
    {
        protected Cluster cluster;

        @Override
        public void onStart(final Cluster cluster, final Image snapshotImage)
        {
            this.cluster = cluster;
        }

        @Override
        public void onSessionOpen(final ClientSession session, final long timestamp)
        {
        }

        @Override
        public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
        {
        }

        @Override
        public void onTimerEvent(final long correlationId, final long timestamp)
        {
        }

        @Override
        public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
        {
        }

        @Override
        public void onRoleChange(final Cluster.Role newRole)
        {
        }

        @Override
        public void onTerminate(final Cluster cluster)
        {
        }
    }

    private static final class Echo extends Service
    {
        @Override
        public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            long result;
            while ((result = session.offer(buffer, offset, length)) == Publication.BACK_PRESSURED || result == Publication.ADMIN_ACTION)
            {
                cluster.idleStrategy().idle();
            }
        }
    }

    private static final class Counter extends Service
    {
        private long count;
        private long bytes;
        private long beginNs;
        private long beginProcessorNs;

        @Override
        public void onStart(final Cluster cluster, final Image snapshotImage)
        {
            super.onStart(cluster, snapshotImage);
            if (null != snapshotImage)
            {
                while (0 == snapshotImage.poll(this::restore, 1))
                {
                    cluster.idleStrategy().idle();
                }
                System.out.println("{\"event\": \"restored\", \"messages\": " + count + "}");
            }
        }

        @Override
        public void onSessionOpen(final ClientSession session, final long timestamp)
        {
            beginNs = System.nanoTime();
            beginProcessorNs = processorNs();
        }

        @Override
        public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            count++;
            bytes += length;
            if (0 == length)
            {
                System.out.println("{\"event\": \"replayed\", \"messages\": " + count + ", \"bytes\": " + bytes +
                    ", \"seconds\": " + (System.nanoTime() - beginNs) / NANOSECONDS +
                    ", \"processor_seconds\": " + (processorNs() - beginProcessorNs) / NANOSECONDS + "}");
            }
        }

        @Override
        public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
        {
            final UnsafeBuffer state = new UnsafeBuffer(new byte[2 * Long.BYTES]);
            state.putLong(0, count);
            state.putLong(Long.BYTES, bytes);
            while (snapshotPublication.offer(state) < 0)
            {
                cluster.idleStrategy().idle();
            }
        }

        private void restore(final DirectBuffer buffer, final int offset, final int length, final Header header)
        {
            count = buffer.getLong(offset);
            bytes = buffer.getLong(offset + Long.BYTES);
        }

        private static long processorNs()
        {
            return ProcessHandle.current().info().totalCpuDuration().map(java.time.Duration::toNanos).orElse(0L);
        }
    }
}
