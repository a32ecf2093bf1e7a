package io.aeron.cluster;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Subscription;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.codecs.MessageHeaderEncoder;
import io.aeron.cluster.codecs.SessionMessageHeaderEncoder;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * The consensus module's snapshots by the official classes, which only their own package can use.
 * {@code write FILE} takes a snapshot as the commands in a file say, and prints its messages in hexadecimal digits: {@code begin|end POSITION
 * TERM}, {@code state NEXT NEXT_SERVICE LOG_SERVICE CAPACITY}, {@code session ID CORRELATION POSITION STREAM REASON CHANNEL},
 * {@code timer ID DEADLINE}, {@code message SERVICE LENGTH}, {@code sweep SERVICE ID}, {@code tracker SERVICE}.
 * {@code read FILE} loads a snapshot from such digits, and prints what it is told.
 */
public final class ConsensusModuleSnapshots
{
    private static final int HEADER_LENGTH = 32;

    public static void main(final String[] args) throws IOException
    {
        final List<String> lines = Files.readAllLines(Path.of(args[1]));
        try (MediaDriver driver = MediaDriver.launchEmbedded(new MediaDriver.Context().threadingMode(ThreadingMode.SHARED));
            Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName()));
            Subscription subscription = aeron.addSubscription("aeron:ipc?term-length=1m", 107);
            ExclusivePublication publication = aeron.addExclusivePublication("aeron:ipc?term-length=1m", 107))
        {
            while (!publication.isConnected() || subscription.hasNoImages())
            {
                Thread.yield();
            }
            if ("write".equals(args[0]))
            {
                write(publication, lines);
                print(subscription.imageAtIndex(0), publication.position());
            }
            else
            {
                read(publication, subscription.imageAtIndex(0), lines);
            }
        }
    }

    private static void write(final ExclusivePublication publication, final List<String> lines)
    {
        final ConsensusModuleSnapshotTaker taker = new ConsensusModuleSnapshotTaker(publication, YieldingIdleStrategy.INSTANCE, null);
        final PendingServiceMessageTracker[] trackers = new PendingServiceMessageTracker[10];
        for (int i = 0; i < trackers.length; i++)
        {
            trackers[i] = new PendingServiceMessageTracker(i, null, null, null);
        }
        for (final String line : lines)
        {
            final String[] words = line.split(" ");
            final long[] numbers = new long[5];
            for (int i = 1; i < words.length && i <= numbers.length; i++)
            {
                numbers[i - 1] = Long.parseLong(words[i]);
            }
            final PendingServiceMessageTracker tracker = trackers[(int)Math.floorMod(numbers[0], 10L)];
            switch (words[0])
            {
                case "begin" -> taker.markBegin(1, numbers[0], numbers[1], 0, TimeUnit.MILLISECONDS, 1);
                case "end" -> taker.markEnd(1, numbers[0], numbers[1], 0, TimeUnit.MILLISECONDS, 1);
                case "state" -> taker.snapshotConsensusModuleState(numbers[0], numbers[1], numbers[2], (int)numbers[3]);
                case "session" -> taker.snapshotSession(session(numbers, words[6]));
                case "timer" -> taker.snapshotTimer(numbers[0], numbers[1]);
                case "message" -> enqueue(tracker, (int)numbers[1]);
                case "sweep" -> tracker.sweepFollowerMessages(numbers[1]);
                default -> taker.snapshot(tracker, Throwable::printStackTrace);
            }
        }
    }

    private static void enqueue(final PendingServiceMessageTracker tracker, final int length)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[HEADER_LENGTH + length]);
        new SessionMessageHeaderEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
        tracker.enqueueMessage(buffer, HEADER_LENGTH, length);
    }

    private static ClusterSession session(final long[] numbers, final String channel)
    {
        final ClusterSession session = new ClusterSession(0, numbers[0], (int)numbers[3], channel, "");
        session.loadSnapshotState(numbers[1], numbers[2], 0, CloseReason.get((int)numbers[4]));
        return session;
    }

    private static void print(final Image image, final long position)
    {
        final StringBuilder output = new StringBuilder();
        final FragmentHandler assembler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            final byte[] message = new byte[length];
            buffer.getBytes(offset, message);
            output.append(HexFormat.of().formatHex(message)).append('\n');
        });
        while (image.position() < position)
        {
            image.poll(assembler, 10);
        }
        System.out.print(output);
    }

    private static void read(final ExclusivePublication publication, final Image image, final List<String> lines)
    {
        final ConsensusModuleSnapshotAdapter adapter = new ConsensusModuleSnapshotAdapter(image, new Printer());
        for (final String line : lines)
        {
            while (publication.offer(new UnsafeBuffer(HexFormat.of().parseHex(line))) < 0)
            {
                Thread.yield();
            }
            while (image.position() < publication.position() && !adapter.isDone())
            {
                adapter.poll();
            }
        }
        System.out.println(adapter.isDone() ? "done" : "not done");
    }

    private static final class Printer implements ConsensusModuleSnapshotListener
    {
        public void onLoadBeginSnapshot(
            final int appVersion, final TimeUnit timeUnit, final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("begin " + appVersion + " " + timeUnit);
        }

        public void onLoadConsensusModuleState(
            final long nextSessionId, final long nextServiceSessionId, final long logServiceSessionId, final int pendingMessageCapacity,
            final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println(
                "state " + nextSessionId + " " + nextServiceSessionId + " " + logServiceSessionId + " " + pendingMessageCapacity);
        }

        public void onLoadPendingMessage(final long clusterSessionId, final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("message " + clusterSessionId + " " + (length - HEADER_LENGTH));
        }

        public void onLoadClusterSession(
            final long clusterSessionId, final long correlationId, final long openedLogPosition, final long timeOfLastActivity,
            final CloseReason closeReason, final int responseStreamId, final String responseChannel,
            final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("session " + clusterSessionId + " " + correlationId + " " + openedLogPosition + " " + responseStreamId +
                " " + closeReason.value() + " " + responseChannel);
        }

        public void onLoadTimer(
            final long correlationId, final long deadline, final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("timer " + correlationId + " " + deadline);
        }

        public void onLoadPendingMessageTracker(
            final long nextServiceSessionId, final long logServiceSessionId, final int pendingMessageCapacity, final int serviceId,
            final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("tracker " + serviceId + " " + nextServiceSessionId + " " + logServiceSessionId + " " +
                pendingMessageCapacity);
        }

        public void onLoadEndSnapshot(final DirectBuffer buffer, final int offset, final int length)
        {
            System.out.println("end");
        }
    }
}
