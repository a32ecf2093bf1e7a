import io.aeron.Aeron;
import io.aeron.ChannelUri;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.checksum.Checksums;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ArchiveException;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.archive.status.RecordingPos;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

import java.io.File;

/**
 * The official archive with its driver, a publisher and a subscriber in one process: records a stream, then replays it.
 * Arguments: a directory for the driver, one for the archive, length and number of messages, file sync level, checksum or {@code none}, rounds. Prints a line
 * {@code record-seconds replay-seconds} for each round, the first of which only warms up.
 */
final class ArchiveRates
{
    private static final String CHANNEL = "aeron:ipc?term-length=64m";
    private static final int STREAM_ID = 1001;
    private static final int REPLAY_STREAM_ID = 2001;

    private ArchiveRates()
    {
    }

    public static void main(final String[] arguments)
    {
        final String directory = arguments[1];
        final int length = Integer.parseInt(arguments[2]);
        final int messages = Integer.parseInt(arguments[3]);
        final int syncLevel = Integer.parseInt(arguments[4]);
        final MediaDriver.Context driver = new MediaDriver.Context()
            .aeronDirectoryName(arguments[0] + "/driver").threadingMode(ThreadingMode.SHARED).dirDeleteOnStart(true);
        final Archive.Context archive = new Archive.Context()
            .aeronDirectoryName(arguments[0] + "/driver").archiveDir(new File(directory, "archive"))
            .controlChannel("aeron:udp?endpoint=localhost:0").replicationChannel("aeron:udp?endpoint=localhost:0")
            .threadingMode(ArchiveThreadingMode.DEDICATED).fileSyncLevel(syncLevel).catalogFileSyncLevel(syncLevel)
            .recordChecksum("none".equals(arguments[5]) ? null : Checksums.crc32c());
        try (ArchivingMediaDriver node = ArchivingMediaDriver.launch(driver, archive);
            AeronArchive client = AeronArchive.connect(new AeronArchive.Context()
                .aeronDirectoryName(node.mediaDriver().aeronDirectoryName())
                .controlRequestChannel("aeron:ipc").controlResponseChannel("aeron:ipc")))
        {
            for (int round = 0; round <= Integer.parseInt(arguments[6]); round++)
            {
                round(client, length, messages);
            }
        }
    }

    private static void round(final AeronArchive archive, final int length, final int messages)
    {
        final Aeron aeron = archive.context().aeron();
        final UnsafeBuffer message = new UnsafeBuffer(new byte[length]);
        final long recordingId;
        final long position;
        final double recordSeconds;
        try (ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, STREAM_ID))
        {
            final long subscriptionId = archive.startRecording(
                ChannelUri.addSessionId(CHANNEL, publication.sessionId()), STREAM_ID, SourceLocation.LOCAL);
            final CountersReader counters = aeron.countersReader();
            int counterId;
            do
            {
                counterId = RecordingPos.findCounterIdBySession(counters, publication.sessionId(), archive.archiveId());
                Thread.onSpinWait();
            }
            while (CountersReader.NULL_COUNTER_ID == counterId);
            recordingId = RecordingPos.getRecordingId(counters, counterId);
            final long begin = System.nanoTime();
            for (int i = 0; i < messages; i++)
            {
                while (publication.offer(message, 0, length) < 0)
                {
                    Thread.yield();
                }
            }
            position = publication.position();
            while (counters.getCounterValue(counterId) < position)
            {
                Thread.yield();
            }
            recordSeconds = (System.nanoTime() - begin) / 1e9;
            archive.stopRecording(subscriptionId);
        }
        while (AeronArchive.NULL_POSITION == archive.getStopPosition(recordingId))
        {
            Thread.yield();
        }
        try (Subscription subscription = archive.replay(recordingId, 0, position, CHANNEL, REPLAY_STREAM_ID))
        {
            while (subscription.hasNoImages())
            {
                Thread.yield();
            }
            final Image image = subscription.imageAtIndex(0);
            final long begin = System.nanoTime();
            while (image.position() < position)
            {
                if (0 == image.blockPoll((buffer, offset, blockLength, sessionId, termId) -> {}, 1 << 20))
                {
                    Thread.yield();
                }
            }
            System.out.println(recordSeconds + " " + (System.nanoTime() - begin) / 1e9);
        }
        purge(archive, recordingId);
    }

    private static void purge(final AeronArchive archive, final long recordingId)
    {
        while (true)
        {
            try
            {
                archive.purgeRecording(recordingId);
                return;
            }
            catch (final ArchiveException ignore)
            {
                Thread.yield();     // the replay has not ended yet
            }
        }
    }
}
