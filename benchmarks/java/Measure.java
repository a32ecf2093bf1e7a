import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The official client at either end of a measurement, with the arguments of the Python one: {@code ping} (both ends in
 * this thread with {@code one-thread=true}), {@code pong}, {@code publish}, {@code receive}. Prints {@code ready}, then
 * one JSON object.
 */
final class Measure
{
    private static final int FRAGMENT_LIMIT = 256;

    private final Map<String, String> options = new HashMap<>();
    private final int messages;
    private final int warmup;
    private final int streamId;
    private final UnsafeBuffer message;

    private Measure(final String[] arguments)
    {
        for (int i = 1; i < arguments.length; i++)
        {
            final int equals = arguments[i].indexOf('=');
            options.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        messages = Integer.parseInt(options.get("messages"));
        warmup = Integer.parseInt(options.get("warmup"));
        streamId = Integer.parseInt(options.get("stream-id"));
        message = new UnsafeBuffer(new byte[Integer.parseInt(options.get("length"))]);
    }

    public static void main(final String[] arguments)
    {
        final Measure measure = new Measure(arguments);
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(measure.options.get("dir"))))
        {
            switch (arguments[0])
            {
                case "ping" -> measure.ping(aeron);
                case "pong" -> measure.pong(aeron);
                case "publish" -> measure.publish(aeron);
                case "receive" -> measure.receive(aeron);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    private void ping(final Aeron aeron)
    {
        final boolean oneThread = Boolean.parseBoolean(options.get("one-thread"));
        try (Subscription answers = aeron.addSubscription(options.get("reply-channel"), streamId + 1);
            ExclusivePublication questions = aeron.addExclusivePublication(options.get("channel"), streamId);
            Subscription farQuestions = oneThread ? aeron.addSubscription(options.get("channel"), streamId) : null;
            ExclusivePublication farAnswers = oneThread ?
                aeron.addExclusivePublication(options.get("reply-channel"), streamId + 1) : null)
        {
            ready();
            final FragmentHandler discard = (buffer, offset, length, header) -> {};
            final FragmentHandler echo = oneThread ? echo(farAnswers) : null;
            awaitConnected(questions, answers);
            if (oneThread)
            {
                awaitConnected(farAnswers, farQuestions);
            }
            final long[] samples = new long[messages];
            for (int i = -warmup; i < messages; i++)
            {
                final long begin = System.nanoTime();
                offer(questions, message, 0, message.capacity());
                while (0 == answers.poll(discard, 1))
                {
                    if (oneThread)
                    {
                        farQuestions.poll(echo, FRAGMENT_LIMIT);
                    }
                }
                if (i >= 0)
                {
                    samples[i] = System.nanoTime() - begin;
                }
            }
            Arrays.sort(samples);
            System.out.printf(
                "{\"p50_us\": %.3f, \"p90_us\": %.3f, \"p99_us\": %.3f, \"max_us\": %.3f}%n",
                at(samples, 0.5), at(samples, 0.9), at(samples, 0.99), at(samples, 1.0));
        }
    }

    private void pong(final Aeron aeron)
    {
        try (Subscription questions = aeron.addSubscription(options.get("channel"), streamId);
            ExclusivePublication answers = aeron.addExclusivePublication(options.get("reply-channel"), streamId + 1))
        {
            ready();
            awaitConnected(answers, questions);
            final FragmentHandler echo = echo(answers);
            long remaining = (long)messages + warmup;
            while (remaining > 0)
            {
                remaining -= questions.poll(echo, FRAGMENT_LIMIT);
            }
            System.out.println("{}");
        }
    }

    private void publish(final Aeron aeron)
    {
        try (Publication publication = Boolean.parseBoolean(options.get("concurrent")) ?
            aeron.addPublication(options.get("channel"), streamId) :
            aeron.addExclusivePublication(options.get("channel"), streamId))
        {
            ready();
            while (!publication.isConnected())
            {
                Thread.onSpinWait();
            }
            for (int i = 0; i < messages; i++)
            {
                long result;
                while ((result = publication.offer(message)) < 0)
                {
                    check(result);
                    Thread.yield();
                }
            }
            System.out.println("{}");
        }
    }

    private void receive(final Aeron aeron)
    {
        try (Subscription subscription = aeron.addSubscription(options.get("channel"), streamId))
        {
            ready();
            final FragmentHandler discard = (buffer, offset, length, header) -> {};
            final IdleStrategy idle = new BackoffIdleStrategy();
            long received = 0;
            long first = 0;
            long begin = 0;
            while (received < messages)
            {
                final int fragments = subscription.poll(discard, FRAGMENT_LIMIT);
                if (fragments > 0 && 0 == received)
                {
                    begin = System.nanoTime();
                    first = fragments;
                }
                received += fragments;
                idle.idle(fragments);
            }
            System.out.printf(
                "{\"msgs_per_s\": %.1f}%n", (received - first) / ((System.nanoTime() - begin) / 1e9));
        }
    }

    private static FragmentHandler echo(final ExclusivePublication answers)
    {
        return (buffer, offset, length, header) ->
        {
            while (true)
            {
                final long result = answers.offer(buffer, offset, length);
                if (result >= 0)
                {
                    return;
                }
                check(result);
            }
        };
    }

    private static void offer(final Publication publication, final UnsafeBuffer buffer, final int offset, final int length)
    {
        long result;
        while ((result = publication.offer(buffer, offset, length)) < 0)
        {
            check(result);
        }
    }

    private static void check(final long result)
    {
        if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION)
        {
            throw new IllegalStateException("offer returned " + Publication.errorString(result));
        }
    }

    private static void awaitConnected(final Publication publication, final Subscription subscription)
    {
        while (!publication.isConnected() || !subscription.isConnected())
        {
            Thread.yield();
        }
    }

    private static double at(final long[] sorted, final double share)
    {
        return sorted[(int)Math.round((sorted.length - 1) * share)] / 1000.0;
    }

    private static void ready()
    {
        System.out.println("ready");
    }
}
