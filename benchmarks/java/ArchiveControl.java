import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.archive.status.RecordingPos;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.agrona.concurrent.status.CountersReader;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Asks an archive for one thing after another, and says how long each answer took; then leaves it alone with recordings until told to go on.
 *
 * Arguments: Aeron directory, control channel, idle strategy (yield or backoff), rounds, catalog (recordings to list), idle recordings.
 * Prints "operation median-in-nanoseconds" for each operation, "idle" when it has nothing more to ask, and ends with its input.
 */
public final class ArchiveControl
{
    private static final String CHANNEL = "aeron:ipc?term-length=64k";
    private static final int STREAM_ID = 1001;
    private static final int REPLAY_STREAM_ID = 20_000;
    private static final int CATALOG_STREAM_ID = 3001;
    private static final int IDLE_STREAM_ID = 4001;
    private static final int UNUSED_STREAM_ID = 10_000;

    public static void main(final String[] arguments) throws Exception
    {
        final int rounds = Integer.parseInt(arguments[3]);
        final int listed = Integer.parseInt(arguments[4]);
        final IdleStrategy idle = "yield".equals(arguments[2]) ? new YieldingIdleStrategy() : new BackoffIdleStrategy();
        try (AeronArchive archive = AeronArchive.connect(new AeronArchive.Context()
            .aeronDirectoryName(arguments[0])
            .controlRequestChannel(arguments[1])
            .controlResponseChannel("aeron:udp?endpoint=127.0.0.1:0")
            .idleStrategy(idle)))
        {
            if (rounds > 0)
            {
                operations(archive, rounds, listed);
            }
            idle(archive, Integer.parseInt(arguments[5]));
        }
    }

    private static void operations(final AeronArchive archive, final int rounds, final int listed)
    {
        final Aeron aeron = archive.context().aeron();
        archive.startRecording(CHANNEL, STREAM_ID, SourceLocation.LOCAL);
        try (ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, STREAM_ID))
        {
            final long recordingId = record(aeron, archive, publication);
            final long[] held = new long[1];
            measure("position", rounds, (i) -> archive.getRecordingPosition(recordingId));
            measure("start replay", rounds,
                (i) -> held[0] = archive.startReplay(recordingId, 0, Long.MAX_VALUE, CHANNEL, REPLAY_STREAM_ID + i),
                (i) -> archive.stopReplay(held[0]));
            measure("start", rounds,
                (i) -> held[0] = archive.startRecording(CHANNEL, UNUSED_STREAM_ID + i, SourceLocation.LOCAL),
                (i) -> archive.stopRecording(held[0]));
            measure("stop", rounds,
                (i) -> archive.stopRecording(held[0]),
                (i) -> {},
                (i) -> held[0] = archive.startRecording(CHANNEL, UNUSED_STREAM_ID + i, SourceLocation.LOCAL));
        }
        fill(aeron, archive, listed);
        measure("list", Math.max(rounds / 10, 20), (i) -> list(archive, listed));
    }

    private static long record(final Aeron aeron, final AeronArchive archive, final ExclusivePublication publication)
    {
        final CountersReader counters = aeron.countersReader();
        int counterId;
        do
        {
            counterId = RecordingPos.findCounterIdBySession(counters, publication.sessionId(), archive.archiveId());
            Thread.yield();
        }
        while (CountersReader.NULL_COUNTER_ID == counterId);
        final long recordingId = RecordingPos.getRecordingId(counters, counterId);
        while (publication.offer(new UnsafeBuffer(new byte[32])) < 0)
        {
            Thread.yield();
        }
        while (counters.getCounterValue(counterId) < publication.position())
        {
            Thread.yield();
        }
        return recordingId;
    }

    private static void fill(final Aeron aeron, final AeronArchive archive, final int listed)
    {
        final long subscriptionId = archive.startRecording(CHANNEL, CATALOG_STREAM_ID, SourceLocation.LOCAL);
        for (int i = 0; i < listed; i++)
        {
            final long recordingId;
            try (ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, CATALOG_STREAM_ID))
            {
                recordingId = record(aeron, archive, publication);
            }
            while (AeronArchive.NULL_POSITION == archive.getStopPosition(recordingId))
            {
                Thread.yield();
            }
        }
        archive.stopRecording(subscriptionId);
    }

    private static void list(final AeronArchive archive, final int listed)
    {
        final int count = archive.listRecordings(
            0, listed, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) -> {});
        if (count != listed)
        {
            throw new IllegalStateException("listed " + count);
        }
    }

    private static void idle(final AeronArchive archive, final int recordings) throws Exception
    {
        final Aeron aeron = archive.context().aeron();
        archive.startRecording(CHANNEL, IDLE_STREAM_ID, SourceLocation.LOCAL);
        for (int i = 0; i < recordings; i++)
        {
            record(aeron, archive, aeron.addExclusivePublication(CHANNEL, IDLE_STREAM_ID));
        }
        System.out.println("idle");
        System.in.read();
    }

    private static void measure(final String name, final int rounds, final IntConsumer operation)
    {
        measure(name, rounds, operation, (i) -> {});
    }

    private static void measure(
        final String name, final int rounds, final IntConsumer operation, final IntConsumer after)
    {
        measure(name, rounds, operation, after, (i) -> {});
    }

    private static void measure(
        final String name,
        final int rounds,
        final IntConsumer operation,
        final IntConsumer after,
        final IntConsumer before)
    {
        final long[] found = new long[rounds];
        for (int i = -rounds / 4; i < rounds; i++)
        {
            before.accept(i + rounds);
            final long begin = System.nanoTime();
            operation.accept(i + rounds);
            final long elapsed = System.nanoTime() - begin;
            after.accept(i + rounds);
            if (i >= 0)
            {
                found[i] = elapsed;
            }
        }
        Arrays.sort(found);
        System.out.println(name.replace(' ', '-') + " " + found[rounds / 2]);
    }
}
