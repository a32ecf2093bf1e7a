import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

import java.util.concurrent.TimeUnit;

/**
 * Official client that takes a number of messages, prints their hash as one JSON object and stays until its standard
 * input ends; a message too many changes the hash.
 */
final class Subscriber
{
    private static final int FRAGMENT_LIMIT = 10;
    private static final long QUIET_NS = TimeUnit.MILLISECONDS.toNanos(200);

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final int messages = options.integer("messages");
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));
        final ContentHash hash = new ContentHash();
        final byte[] message = new byte[1 << 24];
        final FragmentHandler handler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            buffer.getBytes(offset, message, 0, length);
            hash.add(message, 0, length);
        });

        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir")));
            Subscription subscription = aeron.addSubscription(options.text("channel"), options.integer("stream")))
        {
            System.out.println("{\"role\": \"subscriber\", \"ready\": true}");
            final IdleStrategy idle = new BackoffIdleStrategy();
            while (hash.messages() < messages)
            {
                if (System.nanoTime() - deadline > 0)
                {
                    throw new IllegalStateException("timeout: " + hash.messages() + " of " + messages + " messages");
                }
                idle.idle(subscription.poll(handler, FRAGMENT_LIMIT));
            }

            final long quiet = System.nanoTime() + QUIET_NS;
            while (System.nanoTime() - quiet < 0)
            {
                idle.idle(subscription.poll(handler, FRAGMENT_LIMIT));
            }

            System.out.println("{\"role\": \"subscriber\", " + hash.fields() + "}");
            while (System.in.read() >= 0)
            {
                Thread.yield();
            }
        }
    }
}
