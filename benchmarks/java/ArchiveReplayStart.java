import io.aeron.Aeron;
import io.aeron.Image;
import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.NoOpLock;
import org.agrona.concurrent.YieldingIdleStrategy;

import java.io.IOException;
import java.util.Arrays;

/**
 * Replays a recording of each of two archives again and again, in turn, and says how long the image and the first message took from the
 * request on. The subscription is there before. A client without threads: what it waits for is seen at once. While one archive is asked,
 * the process of the other one is stopped: agents that do not sleep would take the processors from it.
 *
 * Arguments: Aeron directory, runs, replays of each archive in a run, then control channel, recording id and process id of each archive.
 * Prints for each run and archive a line {@code archive response image message}: the archive's index, and medians in nanoseconds. The
 * first run only warms up, and is not shown.
 */
final class ArchiveReplayStart
{
    private static final String CHANNEL = "aeron:ipc";
    private static final int STREAM_ID = 20_000;
    private static final int STEPS = 3;
    private static final int REPLAYS_OF_TURN = 50;

    private final Aeron aeron;
    private final AgentInvoker invoker;
    private final AeronArchive archive;
    private final long recordingId;
    private final String processId;
    private int streamId;

    private ArchiveReplayStart(
        final String directory, final String channel, final long recordingId, final String processId, final int streamId)
    {
        aeron = Aeron.connect(new Aeron.Context()
            .aeronDirectoryName(directory).useConductorAgentInvoker(true).clientLock(NoOpLock.INSTANCE)
            .idleStrategy(new YieldingIdleStrategy()));
        invoker = aeron.conductorAgentInvoker();
        archive = AeronArchive.connect(new AeronArchive.Context()
            .aeron(aeron).lock(NoOpLock.INSTANCE).idleStrategy(new YieldingIdleStrategy())
            .controlRequestChannel(channel).controlResponseChannel("aeron:udp?endpoint=127.0.0.1:0"));
        this.recordingId = recordingId;
        this.processId = processId;
        this.streamId = streamId;
    }

    public static void main(final String[] arguments) throws IOException, InterruptedException
    {
        final int runs = Integer.parseInt(arguments[1]);
        final int replays = Integer.parseInt(arguments[2]);
        final ArchiveReplayStart[] sides = new ArchiveReplayStart[(arguments.length - 3) / 3];
        for (int i = 0; i < sides.length; i++)
        {
            final int first = 3 + 3 * i;
            final long recordingId = Long.parseLong(arguments[first + 1]);
            sides[i] = new ArchiveReplayStart(
                arguments[0], arguments[first], recordingId, arguments[first + 2], STREAM_ID * (i + 1));
        }
        for (int run = 0; run <= runs; run++)
        {
            final long[][][] found = new long[sides.length][STEPS][replays];
            for (int begin = 0; begin < replays; begin += REPLAYS_OF_TURN)
            {
                for (int i = 0; i < sides.length; i++)
                {
                    sides[i ^ 1].signal("STOP");
                    for (int replay = begin; replay < Math.min(begin + REPLAYS_OF_TURN, replays); replay++)
                    {
                        sides[i].measure(found[i], replay);
                        sides[i ^ 1].invoker.invoke();
                    }
                    sides[i ^ 1].signal("CONT");
                    sides[i ^ 1].archive.checkForErrorResponse();
                }
            }
            for (int i = 0; i < sides.length && run > 0; i++)
            {
                final long[][] steps = found[i];
                System.out.println(i + " " + median(steps[0]) + " " + median(steps[1]) + " " + median(steps[2]));
            }
        }
        for (final ArchiveReplayStart side : sides)
        {
            side.archive.close();
            side.aeron.close();
        }
    }

    private void signal(final String name) throws IOException, InterruptedException
    {
        new ProcessBuilder("kill", "-" + name, processId).start().waitFor();
    }

    private void measure(final long[][] found, final int index)
    {
        try (Subscription subscription = aeron.addSubscription(CHANNEL, ++streamId))
        {
            final long begin = System.nanoTime();
            final long replaySessionId = archive.startReplay(recordingId, 0, Long.MAX_VALUE, CHANNEL, streamId);
            found[0][index] = System.nanoTime() - begin;
            while (subscription.hasNoImages())
            {
                invoker.invoke();
                Thread.yield();
            }
            found[1][index] = System.nanoTime() - begin;
            final Image image = subscription.imageAtIndex(0);
            while (0 == image.poll((buffer, offset, length, header) -> {}, 1))
            {
                invoker.invoke();
                Thread.yield();
            }
            found[2][index] = System.nanoTime() - begin;
            archive.stopReplay(replaySessionId);
        }
    }

    private static long median(final long[] values)
    {
        Arrays.sort(values);
        return values[values.length / 2];
    }
}
