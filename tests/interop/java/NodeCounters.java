import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Subscription;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.PersistentSubscription;
import io.aeron.archive.status.RecordingPos;
import io.aeron.cluster.ClusterBackup;
import io.aeron.cluster.ClusterControl;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.Header;
import java.io.File;
import java.util.function.BooleanSupplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

/**
 * The counters of an official cluster node, of a backup beside it, and of their archives and clients: {@code DIRECTORY PORT...} with seven free
 * ports. The node starts, takes a snapshot and starts again from it. A line for each counter of archive and cluster that is there at certain
 * moments: moment, type id, value, key in hexadecimal digits without the zeros at its end, and label, with tabs between.
 */
public final class NodeCounters
{
    private static final String CHANNEL = "aeron:ipc?term-length=64k";
    private static final int STREAM_ID = 1001;
    private static final int FIRST_TYPE_ID = 100;
    private static final int LAST_TYPE_ID = 299;
    private static final long DEADLINE_MS = System.currentTimeMillis() + 60_000;

    private static String[] ports;
    private static File home;

    @SuppressWarnings("try")
    public static void main(final String[] args)
    {
        home = new File(args[0]);
        ports = args;
        try (ClusteredMediaDriver node = launchNode(); ClusteredServiceContainer container = launchService("first start");
            AeronCluster client = AeronCluster.connect(new AeronCluster.Context().aeronDirectoryName(driverDirectory("node"))
                .ingressChannel("aeron:udp").ingressEndpoints("0=localhost:" + ports[1]).egressChannel("aeron:udp?endpoint=localhost:0")
                .clientName("trader").egressListener((session, timestamp, buffer, offset, length, header) -> {})))
        {
            useArchive(node.archive().context().archiveId());
            takeSnapshot(node);
            runBackup();
        }
        try (ClusteredMediaDriver node = launchNode(); ClusteredServiceContainer container = launchService("second start"))
        {
            await(() -> ConsensusModule.State.ACTIVE.code() == node.consensusModule().context().moduleStateCounter().get());
        }
    }

    private static String driverDirectory(final String name)
    {
        return new File(home, name + "-driver").getPath();
    }

    private static MediaDriver.Context driver(final String name)
    {
        return new MediaDriver.Context().aeronDirectoryName(driverDirectory(name)).threadingMode(ThreadingMode.SHARED)
            .dirDeleteOnStart(true).dirDeleteOnShutdown(true);
    }

    private static Archive.Context archive(final String name, final long archiveId, final String port)
    {
        return new Archive.Context().aeronDirectoryName(driverDirectory(name)).archiveDir(new File(home, name + "-archive"))
            .archiveId(archiveId).threadingMode(ArchiveThreadingMode.DEDICATED).segmentFileLength(65536)
            .controlChannel("aeron:udp?endpoint=localhost:" + port).replicationChannel("aeron:udp?endpoint=localhost:0")
            .recordingEventsEnabled(false);
    }

    private static String members()
    {
        return "0,localhost:" + ports[1] + ",localhost:" + ports[2] + ",localhost:" + ports[3] + ",localhost:" + ports[4] +
            ",localhost:" + ports[5];
    }

    private static ClusteredMediaDriver launchNode()
    {
        final ConsensusModule.Context module = new ConsensusModule.Context().aeronDirectoryName(driverDirectory("node"))
            .clusterDir(new File(home, "node-cluster")).clusterId(7).clusterMemberId(0).clusterMembers(members())
            .ingressChannel("aeron:udp").logChannel("aeron:udp?term-length=64k").replicationChannel("aeron:udp?endpoint=localhost:0")
            .acceptStandbySnapshots(true);
        return ClusteredMediaDriver.launch(driver("node"), archive("node", -42, ports[5]), module);
    }

    private static ClusteredServiceContainer launchService(final String moment)
    {
        return ClusteredServiceContainer.launch(new ClusteredServiceContainer.Context().aeronDirectoryName(driverDirectory("node"))
            .clusterDir(new File(home, "node-cluster")).clusterId(7).serviceId(0).clusteredService(new Service(moment)));
    }

    @SuppressWarnings("try")
    private static void useArchive(final long archiveId)
    {
        final AeronArchive.Context context = new AeronArchive.Context().aeronDirectoryName(driverDirectory("node")).clientName("recorder")
            .controlRequestChannel("aeron:udp?endpoint=localhost:" + ports[5]).controlResponseChannel("aeron:udp?endpoint=localhost:0");
        try (AeronArchive session = AeronArchive.connect(context))
        {
            final Aeron aeron = session.context().aeron();
            final CountersReader counters = aeron.countersReader();
            final ExclusivePublication publication = session.addRecordedExclusivePublication(CHANNEL, STREAM_ID);
            await(() -> CountersReader.NULL_COUNTER_ID !=
                RecordingPos.findCounterIdBySession(counters, publication.sessionId(), archiveId));
            final int counterId = RecordingPos.findCounterIdBySession(counters, publication.sessionId(), archiveId);
            final long recordingId = RecordingPos.getRecordingId(counters, counterId);
            await(() -> publication.offer(new UnsafeBuffer(new byte[100])) > 0);
            await(() -> counters.getCounterValue(counterId) == publication.position());
            final PersistentSubscription.Context persistent = new PersistentSubscription.Context()
                .aeronArchiveContext(new AeronArchive.Context().controlRequestChannel("aeron:udp?endpoint=localhost:" + ports[5])
                    .controlResponseChannel("aeron:udp?endpoint=localhost:0").aeronDirectoryName(driverDirectory("node")))
                .aeronDirectoryName(driverDirectory("node")).recordingId(recordingId).startPosition(PersistentSubscription.FROM_START)
                .replayChannel("aeron:udp?endpoint=localhost:0").replayStreamId(1002).liveChannel(CHANNEL).liveStreamId(STREAM_ID);
            try (PersistentSubscription subscription = PersistentSubscription.create(persistent);
                Subscription replay = session.replay(recordingId, 0, Long.MAX_VALUE, CHANNEL, STREAM_ID + 2))
            {
                await(() ->
                {
                    subscription.poll((buffer, offset, length, header) -> {}, 10);
                    return subscription.isLive() && replay.isConnected();
                });
                printCounters("recording", counters);
            }
        }
    }

    private static void takeSnapshot(final ClusteredMediaDriver node)
    {
        final ConsensusModule.Context context = node.consensusModule().context();
        await(() -> ClusterControl.ToggleState.SNAPSHOT.toggle(context.controlToggleCounter()));
        await(() -> 1 == context.snapshotCounter().get() &&
            ConsensusModule.State.ACTIVE.code() == context.moduleStateCounter().get());
    }

    @SuppressWarnings("try")
    private static void runBackup()
    {
        final Archive.Context archive = archive("backup", 43, ports[6]);
        final ClusterBackup.Context context = new ClusterBackup.Context().aeronDirectoryName(driverDirectory("backup"))
            .clusterDir(new File(home, "backup-cluster")).clusterId(7).clusterConsensusEndpoints("localhost:" + ports[2])
            .consensusChannel("aeron:udp?endpoint=localhost:" + ports[7]).catchupEndpoint("localhost:0")
            .clusterArchiveContext(new AeronArchive.Context().controlRequestChannel("aeron:udp?endpoint=localhost:" + ports[5])
                .controlResponseChannel("aeron:udp?endpoint=localhost:0"));
        // Apart from its driver, an archive counts its errors itself.
        try (MediaDriver driver = MediaDriver.launch(driver("backup")); Archive running = Archive.launch(archive);
            ClusterBackup backup = ClusterBackup.launch(context))
        {
            await(() -> ClusterBackup.State.BACKING_UP.code() == context.stateCounter().get());
            printCounters("backing up", context.aeron().countersReader());
        }
    }

    private static void printCounters(final String moment, final CountersReader counters)
    {
        counters.forEach((counterId, typeId, keyBuffer, label) ->
        {
            if (FIRST_TYPE_ID <= typeId && typeId <= LAST_TYPE_ID)
            {
                final StringBuilder key = new StringBuilder();
                int length = keyBuffer.capacity();
                while (length > 0 && 0 == keyBuffer.getByte(length - 1))
                {
                    length--;
                }
                for (int index = 0; index < length; index++)
                {
                    key.append(String.format("%02x", keyBuffer.getByte(index)));
                }
                System.out.println(moment + "\t" + typeId + "\t" + counters.getCounterValue(counterId) + "\t" + key + "\t" + label);
            }
        });
    }

    private static void await(final BooleanSupplier condition)
    {
        while (!condition.getAsBoolean())
        {
            if (System.currentTimeMillis() > DEADLINE_MS)
            {
                throw new IllegalStateException("nothing more happened");
            }
            Thread.yield();
        }
    }

    /** Prints the counters as it starts, and is without a state. */
    private static final class Service implements ClusteredService
    {
        private final String moment;

        private Service(final String moment)
        {
            this.moment = moment;
        }

        public void onStart(final Cluster cluster, final Image snapshotImage)
        {
            printCounters(moment, cluster.aeron().countersReader());
        }

        public void onSessionOpen(final ClientSession session, final long timestamp)
        {
        }

        public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
        {
        }

        public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
        }

        public void onTimerEvent(final long correlationId, final long timestamp)
        {
        }

        public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
        {
        }

        public void onRoleChange(final Cluster.Role newRole)
        {
        }

        public void onTerminate(final Cluster cluster)
        {
        }
    }
}
