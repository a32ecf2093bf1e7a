import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.concurrent.TimeUnit;

/**
 * Official client that asks for many publications and subscriptions before it looks for an answer, publishes to all of
 * them and receives it again, prints both hashes as one JSON object and removes everything by registration id.
 */
final class Burst
{
    private static final int FIRST_STREAM = 3000;
    private static final int FRAGMENT_LIMIT = 10;

    private final Aeron aeron;
    private final long deadline;
    private final int streams;
    private final long[] publicationIds;
    private final long[] subscriptionIds;
    private final ExclusivePublication[] publications;
    private final Subscription[] subscriptions;
    private final ContentHash[] received;
    private final FragmentHandler[] handlers;

    private Burst(final Aeron aeron, final Arguments options)
    {
        this.aeron = aeron;
        deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));
        streams = options.integer("streams");
        publicationIds = new long[streams];
        subscriptionIds = new long[streams];
        publications = new ExclusivePublication[streams];
        subscriptions = new Subscription[streams];
        received = new ContentHash[streams];
        handlers = new FragmentHandler[streams];
        final byte[] message = new byte[1 << 24];
        for (int i = 0; i < streams; i++)
        {
            final ContentHash hash = received[i] = new ContentHash();
            handlers[i] = new FragmentAssembler((buffer, offset, length, header) ->
            {
                buffer.getBytes(offset, message, 0, length);
                hash.add(message, 0, length);
            });
        }
    }

    public static void main(final String[] arguments)
    {
        final Arguments options = new Arguments(arguments);
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir"))))
        {
            final Burst burst = new Burst(aeron, options);
            final int inFlight = burst.ask(options.text("channel"));
            burst.await();
            burst.run(options, inFlight);
            burst.remove();
        }
    }

    private int ask(final String channel)
    {
        for (int i = 0; i < streams; i++)
        {
            publicationIds[i] = aeron.asyncAddExclusivePublication(channel, FIRST_STREAM + i);
            subscriptionIds[i] = aeron.asyncAddSubscription(channel, FIRST_STREAM + i);
        }
        int inFlight = 0;
        for (int i = 0; i < streams; i++)
        {
            inFlight += aeron.isCommandActive(publicationIds[i]) ? 1 : 0;
            inFlight += aeron.isCommandActive(subscriptionIds[i]) ? 1 : 0;
        }
        return inFlight;
    }

    private void await()
    {
        while (aeron.hasActiveCommands())
        {
            checkTime("commands");
            Thread.yield();
        }
        for (int i = 0; i < streams; i++)
        {
            publications[i] = aeron.getExclusivePublication(publicationIds[i]);
            subscriptions[i] = aeron.getSubscription(subscriptionIds[i]);
            while (!publications[i].isConnected() || !subscriptions[i].isConnected())
            {
                checkTime("connection " + i);
                Thread.yield();
            }
        }
    }

    private void run(final Arguments options, final int inFlight)
    {
        final int messages = options.integer("messages");
        final Payloads payloads = new Payloads(options.number("seed"), options.integer("length-max"));
        final UnsafeBuffer pool = new UnsafeBuffer(payloads.pool);
        final ContentHash[] sent = new ContentHash[streams];
        final ContentHash whole = new ContentHash();
        for (int m = 0; m < messages; m++)
        {
            final int i = m % streams;
            sent[i] = null == sent[i] ? new ContentHash() : sent[i];
            payloads.next();
            while (publications[i].offer(pool, payloads.start, payloads.length) < 0)
            {
                checkTime("message " + m);
                subscriptions[i].poll(handlers[i], FRAGMENT_LIMIT);
            }
            sent[i].add(payloads.pool, payloads.start, payloads.length);
            whole.add(payloads.pool, payloads.start, payloads.length);
        }
        long position = Long.MAX_VALUE;
        for (int i = 0; i < streams; i++)
        {
            while (received[i].messages() < sent[i].messages())
            {
                checkTime("what was sent to " + i);
                subscriptions[i].poll(handlers[i], FRAGMENT_LIMIT);
            }
            if (!received[i].fields().equals(sent[i].fields()))
            {
                throw new IllegalStateException("stream " + i + " received something else");
            }
            position = Math.min(position, publications[i].position());
        }
        System.out.println("{\"role\": \"burst\", " + whole.fields() + ", \"in_flight\": " + inFlight +
            ", \"position\": " + position + ", \"term_length\": " + publications[0].termBufferLength() + "}");
    }

    private void remove()
    {
        for (int i = 0; i < streams; i++)
        {
            aeron.asyncRemovePublication(publicationIds[i]);
            aeron.asyncRemoveSubscription(subscriptionIds[i]);
        }
        while (aeron.hasActiveCommands())
        {
            checkTime("removal");
            Thread.yield();
        }
    }

    private void checkTime(final String what)
    {
        if (System.nanoTime() - deadline > 0)
        {
            throw new IllegalStateException("timeout: " + what);
        }
    }
}
