import io.aeron.Publication;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.status.RecordingPos;
import io.aeron.cluster.NodeStateFile;
import io.aeron.cluster.codecs.mark.ClusterComponentType;
import io.aeron.cluster.service.ClusterMarkFile;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import java.io.File;
import java.io.IOException;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

/**
 * Files of official nodes: {@code archive DIRECTORY AERON_DIRECTORY} records two messages, and prints what it recorded;
 * {@code cluster DIRECTORY} writes a mark file and the node's state.
 */
public final class NodeFiles
{
    private static final String CHANNEL = "aeron:ipc?term-length=64k|alias=for-the-catalog";
    private static final int STREAM_ID = 1001;

    public static void main(final String[] args) throws IOException
    {
        if ("archive".equals(args[0]))
        {
            record(new File(args[1]), args[2]);
        }
        else
        {
            writeClusterFiles(new File(args[1]));
        }
    }

    @SuppressWarnings("try")
    private static void record(final File directory, final String aeronDirectory)
    {
        final MediaDriver.Context driver = new MediaDriver.Context().aeronDirectoryName(aeronDirectory)
            .threadingMode(ThreadingMode.SHARED).dirDeleteOnStart(true).dirDeleteOnShutdown(true);
        final Archive.Context archive = new Archive.Context().archiveDir(directory).aeronDirectoryName(aeronDirectory).archiveId(77)
            .threadingMode(ArchiveThreadingMode.SHARED).segmentFileLength(65536).controlChannel("aeron:udp?endpoint=localhost:0")
            .replicationChannel("aeron:udp?endpoint=localhost:0").recordingEventsEnabled(false);
        final AeronArchive.Context client = new AeronArchive.Context().aeronDirectoryName(aeronDirectory)
            .controlRequestChannel("aeron:ipc?term-length=64k").controlRequestStreamId(archive.localControlStreamId())
            .controlResponseChannel("aeron:ipc?term-length=64k");
        try (ArchivingMediaDriver node = ArchivingMediaDriver.launch(driver, archive);
            AeronArchive session = AeronArchive.connect(client))
        {
            final Publication publication = session.addRecordedPublication(CHANNEL, STREAM_ID);
            final CountersReader counters = session.context().aeron().countersReader();
            int counterId = CountersReader.NULL_COUNTER_ID;
            while (CountersReader.NULL_COUNTER_ID == counterId)
            {
                counterId = RecordingPos.findCounterIdBySession(counters, publication.sessionId(), session.archiveId());
            }
            final long recordingId = RecordingPos.getRecordingId(counters, counterId);
            for (int sent = 0; sent < 2; )
            {
                sent += publication.offer(new UnsafeBuffer(new byte[100])) > 0 ? 1 : 0;
            }
            while (counters.getCounterValue(counterId) < publication.position())
            {
                Thread.onSpinWait();
            }
            session.stopRecording(publication);
            System.out.println(recordingId + " " + publication.sessionId() + " " + publication.initialTermId() + " " +
                publication.position());
        }
    }

    private static void writeClusterFiles(final File directory) throws IOException
    {
        try (ClusterMarkFile mark = new ClusterMarkFile(new File(directory, ClusterMarkFile.FILENAME),
            ClusterComponentType.CONSENSUS_MODULE, ClusterMarkFile.ERROR_BUFFER_MIN_LENGTH, SystemEpochClock.INSTANCE, 1000, 4096))
        {
            mark.encoder().archiveStreamId(10).serviceStreamId(104).consensusModuleStreamId(105).ingressStreamId(101).memberId(2)
                .serviceId(-1).clusterId(3).aeronDirectory("/dev/shm/aeron").controlChannel("aeron:ipc").ingressChannel("aeron:udp")
                .serviceName("").authenticator("nobody").servicesClusterDir("");
            mark.signalReady(1234);
        }
        try (NodeStateFile state = new NodeStateFile(directory, true, 0))
        {
            state.updateCandidateTermId(5, 8192, 99);
        }
    }
}
