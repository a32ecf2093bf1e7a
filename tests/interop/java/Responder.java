import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Official client that answers every message of every image of its subscription with the same message, on a response
 * channel of the image's own, until its standard input ends. {@code response=} begins the channel of
 * the answers, {@code response-stream=} is their stream.
 */
final class Responder
{
    private static final int FRAGMENT_LIMIT = 10;

    private final Map<Integer, Publication> answers = new HashMap<>();
    private final IdleStrategy idle = new BackoffIdleStrategy();
    private final FragmentHandler handler = new FragmentAssembler((buffer, offset, length, header) ->
    {
        final Publication answer = answers.get(header.sessionId());
        while (answer.offer(buffer, offset, length) < 0)
        {
            checkTime();
            idle.idle();
        }
        idle.reset();
    });
    private final long deadline;

    private Responder(final long deadline)
    {
        this.deadline = deadline;
    }

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final Responder responder = new Responder(System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout")));
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir")));
            Subscription subscription = aeron.addSubscription(options.text("channel"), options.integer("stream")))
        {
            System.out.println("{\"event\": \"ready\"}");
            responder.serve(aeron, subscription, options);
        }
    }

    private void serve(final Aeron aeron, final Subscription subscription, final Arguments options)
    {
        final Orders orders = new Orders(Map.of());
        while (orders.obey())
        {
            for (final Image image : subscription.images())
            {
                answers.computeIfAbsent(
                    image.sessionId(),
                    (session) -> aeron.addPublication(
                        options.text("response") + "|response-correlation-id=" + image.correlationId(),
                        options.integer("response-stream")));
            }
            idle.idle(subscription.poll(handler, FRAGMENT_LIMIT));
        }
    }

    private void checkTime()
    {
        if (System.nanoTime() - deadline > 0)
        {
            throw new IllegalStateException("timeout: an answer finds no window");
        }
    }
}
