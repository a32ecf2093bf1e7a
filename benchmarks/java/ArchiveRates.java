import io.aeron.Aeron;
import io.aeron.ChannelUri;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
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
import java.util.Arrays;

/**
 * The official archive with its driver, a publisher and a subscriber in one process: records a stream, then replays it.
 * Arguments: a directory for the driver, one for the archive, length and number of messages, file sync level, checksum
 * or {@code none}, rounds, streams at once, channel. Prints a line {@code record-seconds replay-seconds} for each round,
 * the first of which only warms up.
 */
final class ArchiveRates
{
    private static final int BATCH = 2048;
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
                round(client, arguments[8], Integer.parseInt(arguments[7]), length, messages);
            }
        }
    }

    private static void round(
        final AeronArchive archive, final String channel, final int streams, final int length, final int messages)
    {
        final Aeron aeron = archive.context().aeron();
        final CountersReader counters = aeron.countersReader();
        final ExclusivePublication[] publications = new ExclusivePublication[streams];
        final long[] recordingIds = new long[streams];
        final long[] subscriptionIds = new long[streams];
        final int[] counterIds = new int[streams];
        for (int i = 0; i < streams; i++)
        {
            publications[i] = aeron.addExclusivePublication(channel, STREAM_ID + i);
            final int sessionId = publications[i].sessionId();
            subscriptionIds[i] = archive.startRecording(
                ChannelUri.addSessionId(channel, sessionId), STREAM_ID + i, SourceLocation.LOCAL);
            do
            {
                counterIds[i] = RecordingPos.findCounterIdBySession(counters, sessionId, archive.archiveId());
                Thread.onSpinWait();
            }
            while (CountersReader.NULL_COUNTER_ID == counterIds[i]);
            recordingIds[i] = RecordingPos.getRecordingId(counters, counterIds[i]);
        }
        final double recordSeconds = record(publications, counters, counterIds, length, messages / streams);
        final long position = publications[0].position();
        for (int i = 0; i < streams; i++)
        {
            archive.stopRecording(subscriptionIds[i]);
            publications[i].close();
            while (AeronArchive.NULL_POSITION == archive.getStopPosition(recordingIds[i]))
            {
                Thread.yield();
            }
        }
        System.out.println(recordSeconds + " " + replay(archive, channel, recordingIds, position));
        for (final long recordingId : recordingIds)
        {
            purge(archive, recordingId);
        }
    }

    private static double record(
        final ExclusivePublication[] publications,
        final CountersReader counters,
        final int[] counterIds,
        final int length,
        final int messages)
    {
        final UnsafeBuffer message = new UnsafeBuffer(new byte[length]);
        final int[] left = new int[publications.length];
        Arrays.fill(left, messages);
        final long begin = System.nanoTime();
        long total = (long)messages * publications.length;
        while (total > 0)
        {
            final long before = total;
            for (int i = 0; i < publications.length; i++)
            {
                for (int count = 0; count < BATCH && left[i] > 0; count++)
                {
                    if (publications[i].offer(message, 0, length) < 0)
                    {
                        break;
                    }
                    left[i]--;
                    total--;
                }
            }
            if (before == total)
            {
                Thread.yield();
            }
        }
        for (int i = 0; i < publications.length; i++)
        {
            while (counters.getCounterValue(counterIds[i]) < publications[i].position())
            {
                Thread.yield();
            }
        }
        return (System.nanoTime() - begin) / 1e9;
    }

    private static double replay(
        final AeronArchive archive, final String channel, final long[] recordingIds, final long position)
    {
        final Subscription[] subscriptions = new Subscription[recordingIds.length];
        final Image[] images = new Image[recordingIds.length];
        for (int i = 0; i < images.length; i++)
        {
            subscriptions[i] = archive.replay(recordingIds[i], 0, position, channel, REPLAY_STREAM_ID + i);
            while (subscriptions[i].hasNoImages())
            {
                Thread.yield();
            }
            images[i] = subscriptions[i].imageAtIndex(0);
        }
        final long begin = System.nanoTime();
        int unfinished;
        do
        {
            unfinished = 0;
            int bytes = 0;
            for (final Image image : images)
            {
                bytes += image.blockPoll((buffer, offset, length, sessionId, termId) -> {}, 1 << 20);
                unfinished += image.position() < position ? 1 : 0;
            }
            if (0 == bytes)
            {
                Thread.yield();
            }
        }
        while (unfinished > 0);
        final double seconds = (System.nanoTime() - begin) / 1e9;
        for (final Subscription subscription : subscriptions)
        {
            subscription.close();
        }
        return seconds;
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
