import io.aeron.Aeron;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ArchiveException;
import io.aeron.archive.codecs.RecordingSignal;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What sequences of operations have in common: an official client, messages of one length with a number each, signals, and what came of
 * each operation as a line of JSON. What tests/interop/archive/work.py is to our client.
 */
abstract class ArchiveWork implements AutoCloseable
{
    final Arguments options;
    final AeronArchive archive;
    final Aeron aeron;
    final List<String> signals = new ArrayList<>();
    final IdleStrategy idle = new BackoffIdleStrategy();
    /** The recording that results call 0: an archive that others have used has recordings before it. */
    long first = 0;
    private final long deadline;
    private final UnsafeBuffer message;

    ArchiveWork(final Arguments options, final String requests, final int messageLength)
    {
        this.options = options;
        deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));
        message = new UnsafeBuffer(new byte[messageLength]);
        archive = connect(new AeronArchive.Context()
            .aeronDirectoryName(options.text("dir"))
            .controlRequestChannel(requests)
            .controlResponseChannel(options.text("responses"))
            .messageTimeoutNs(TimeUnit.SECONDS.toNanos(60))
            .recordingSignalConsumer((session, correlationId, recordingId, subscriptionId, position, signal) ->
                onSignal(recordingId, position, signal)));
        aeron = archive.context().aeron();
    }

    private static AeronArchive connect(final AeronArchive.Context context)
    {
        final IdleStrategy idle = new BackoffIdleStrategy();
        try (AeronArchive.AsyncConnect connecting = AeronArchive.asyncConnect(context))
        {
            while (true)
            {
                final AeronArchive connected = connecting.poll();
                if (null != connected)
                {
                    return connected;
                }
                idle.idle();
            }
        }
    }

    @Override
    public void close()
    {
        archive.close();
    }

    private void onSignal(final long recordingId, final long position, final RecordingSignal signal)
    {
        signals.add(signal + " " + (recordingId - first) + " " + position);
    }

    final String positions(final long recordingId)
    {
        return archive.getStartPosition(recordingId) + " " + archive.getRecordingPosition(recordingId) + " " +
            archive.getStopPosition(recordingId) + " " + archive.getMaxRecordedPosition(recordingId);
    }

    final String received(final Subscription subscription)
    {
        final long[] count = new long[2];
        final FragmentHandler handler = (buffer, offset, length, header) ->
        {
            count[0]++;
            count[1] += buffer.getInt(offset);
        };
        try (subscription)
        {
            until("a replay", subscription::isConnected);
            idle.reset();
            while (subscription.poll(handler, 10) > 0 || !subscription.imageAtIndex(0).isEndOfStream())
            {
                checkTime("the end of a replay");
                if (subscription.hasNoImages())
                {
                    break;
                }
                idle.idle();
            }
        }
        return count[0] + " " + count[1];
    }

    final void publish(final Publication publication, final int count)
    {
        until("a recorder", publication::isConnected);
        for (int number = 0; number < count; number++)
        {
            message.putInt(0, number);
            while (publication.offer(message, 0, message.capacity()) < 0)
            {
                checkTime("room for a message");
                idle.idle();
            }
        }
    }

    final void recorded(final long recordingId, final long position)
    {
        until("recording " + recordingId, () ->
        {
            try
            {
                return archive.getRecordingPosition(recordingId) >= position;
            }
            catch (final ArchiveException error)
            {
                return false;
            }
        });
    }

    final void until(final String what, final BooleanSupplier condition)
    {
        idle.reset();
        while (!condition.getAsBoolean())
        {
            checkTime(what);
            if (0 == archive.pollForRecordingSignals())
            {
                idle.idle();
            }
        }
    }

    final void checkTime(final String what)
    {
        if (System.nanoTime() > deadline)
        {
            throw new IllegalStateException("timed out waiting for " + what + ", signals " + signals);
        }
    }

    final void ignore(final long controlSessionId, final long correlationId, final long recordingId, final long startTimestamp,
        final long stopTimestamp, final long startPosition, final long stopPosition, final int initialTermId,
        final int segmentFileLength, final int termBufferLength, final int mtuLength, final int sessionId, final int streamId,
        final String strippedChannel, final String originalChannel, final String sourceIdentity)
    {
    }

    final void say(final String name, final Callable<Object> operation)
    {
        String result;
        String text = "";
        try
        {
            result = String.valueOf(operation.call());
        }
        catch (final ArchiveException error)
        {
            result = "error " + error.errorCode();
            text = error.getMessage().replaceAll("[\"\\p{Cntrl}]", " ");
        }
        catch (final Exception error)
        {
            result = "exception " + error;
        }
        System.out.println("{\"operation\": \"" + name + "\", \"result\": \"" + result + "\", \"text\": \"" + text + "\"}");
    }

    final Stream<Long> ids(final long from)
    {
        final List<Long> found = new ArrayList<>();
        archive.listRecordings(from, 1000, (a, b, id, d, e, f, g, h, i, j, k, l, m, n, o, p) -> found.add(id));
        return found.stream();
    }

    final long last()
    {
        return ids(first).reduce((a, b) -> b).orElseThrow();
    }

    /** Waits until there is a recording behind {@code before}, and returns its id. */
    final long recordingAfter(final long before)
    {
        until("a recording", () -> last() > before);
        return last();
    }

    final void stopped(final long recordingId)
    {
        until("a stop", () -> archive.getStopPosition(recordingId) >= 0);
    }

    static String done(final Runnable operation)
    {
        operation.run();
        return "done";
    }

    final long inTime(final Supplier<Long> operation)
    {
        return inTime(operation, (code) -> true);
    }

    final long inTime(final Supplier<Long> operation, final IntPredicate isAwaited)
    {
        final long[] result = new long[1];
        until("an operation", () ->
        {
            try
            {
                result[0] = operation.get();
                return true;
            }
            catch (final ArchiveException error)
            {
                if (!isAwaited.test(error.errorCode()))
                {
                    throw error;
                }
                return false;
            }
        });
        return result[0];
    }

    final Stream<String> names()
    {
        return signals.stream().map((text) -> text.split(" ")[0]);
    }

    final void awaitSignals(final String... awaited)
    {
        until(String.join(" ", awaited), () -> names().collect(Collectors.toSet()).containsAll(Arrays.asList(awaited)));
    }

    final void takeSignals(final String name, final String awaited)
    {
        awaitSignals(awaited);
        say("signals of " + name, () -> signals.stream().sorted().collect(Collectors.joining(", ")));
        signals.clear();
    }
}
