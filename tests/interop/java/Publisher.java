import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.logbuffer.BufferClaim;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Official client that publishes the messages of a seed, prints what it sent as one JSON object and stays until its
 * standard input ends, so that what was lost can still be sent again.
 *
 * <p>Orders: {@code add-destination URI}, {@code remove-destination URI}, {@code remove-destination-id URI} (by the id
 * it was given when it was added), {@code revoke} (an exclusive one), {@code close},
 * {@code claim LENGTH}, left open. {@code destinations=} names those to
 * begin with, separated by spaces; {@code per-second=} limits the rate; {@code patient=true} waits where the last
 * receiver has gone, until there is one again; {@code way=} says how to send (Offering). An error frame of a receiver is
 * the event {@code error frame}. With {@code client=invoked} the client has no threads.
 */
final class Publisher
{
    private static final int ORDERS_EVERY = 64;

    private final Arguments options;
    private final Aeron aeron;
    private final Publication publication;
    private final Orders orders;
    private final Offering offering;
    private final IdleStrategy idle = new BackoffIdleStrategy();
    private final Map<String, Long> destinationIds = new HashMap<>();
    private final long deadline;

    private Publisher(final Arguments options, final Aeron aeron, final Publication publication)
    {
        this.aeron = aeron;
        this.options = options;
        this.publication = publication;
        this.offering = Offering.of(options.text("way", "plain"), publication);
        this.deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));
        this.orders = new Orders(Map.of(
            "add-destination", this::addDestination,
            "remove-destination", publication::removeDestination,
            "remove-destination-id", (uri) -> publication.removeDestination(destinationIds.get(uri)),
            "revoke", (rest) -> ((ExclusivePublication)publication).revoke(),
            "claim", (rest) -> claim(Integer.parseInt(rest)),
            "close", (rest) -> publication.close()),
            aeron.conductorAgentInvoker());
    }

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final Aeron.Context context = new Aeron.Context()
            .aeronDirectoryName(options.text("dir"))
            .useConductorAgentInvoker("invoked".equals(options.text("client", "")))
            .publicationErrorFrameHandler((frame) -> System.out.println("{\"event\": \"error frame\", \"code\": " +
                frame.errorCode() + ", \"text\": \"" + frame.errorMessage() + "\", \"destination\": " +
                (frame.destinationRegistrationId() != Aeron.NULL_VALUE) + "}"));
        try (Aeron aeron = Aeron.connect(context);
            Publication publication = options.flag("exclusive") ?
                aeron.addExclusivePublication(options.text("channel"), options.integer("stream")) :
                aeron.addPublication(options.text("channel"), options.integer("stream")))
        {
            final Publisher publisher = new Publisher(options, aeron, publication);
            for (final String destination : options.list("destinations"))
            {
                publisher.addDestination(destination);
            }
            System.out.println("{\"event\": \"ready\", \"session_id\": " + publication.sessionId() + "}");
            publisher.connect();
            publisher.publish();
            publisher.serve();
        }
    }

    private void addDestination(final String uri)
    {
        final long id = publication.asyncAddDestination(uri);
        while (aeron.isCommandActive(id))
        {
            checkTime("destination " + uri);
            idle.idle();
        }
        destinationIds.put(uri, id);
    }

    private void claim(final int length)
    {
        final BufferClaim claim = new BufferClaim();
        long result;
        while ((result = publication.tryClaim(length, claim)) < 0)
        {
            if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION)
            {
                throw new IllegalStateException("tryClaim returned " + result);
            }
            checkTime("no room for a claim");
            idle.idle();
        }
    }

    private void connect()
    {
        while (!publication.isConnected())
        {
            checkTime("no subscriber");
            orders.obey();
            idle.idle();
        }
    }

    private void publish()
    {
        final int messages = options.integer("messages");
        final Payloads payloads = new Payloads(options.number("seed"), options.integer("length-max"));
        final long perSecond = options.number("per-second", 0);
        final long intervalNs = perSecond > 0 ? TimeUnit.SECONDS.toNanos(1) / perSecond : 0;
        final UnsafeBuffer pool = new UnsafeBuffer(payloads.pool);
        final ContentHash hash = new ContentHash();
        final boolean isPatient = options.flag("patient");
        final long started = System.nanoTime();
        long backPressured = 0;
        for (int i = 0; i < messages; i++)
        {
            payloads.next();
            if (i % ORDERS_EVERY == 0)
            {
                orders.obey();
            }
            idle.reset();
            while (System.nanoTime() - started < i * intervalNs)
            {
                idle.idle();
            }
            long result;
            while ((result = offering.offer(pool, payloads.start, payloads.length, i)) < 0)
            {
                final boolean isWaiting = isPatient && result == Publication.NOT_CONNECTED;
                if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION && !isWaiting)
                {
                    throw new IllegalStateException("offer returned " + result + " at message " + i);
                }
                checkTime("stuck at message " + i);
                backPressured++;
                orders.obey();
                idle.idle();
            }
            hash.add(payloads.pool, payloads.start, payloads.length);
        }
        final double seconds = (System.nanoTime() - started) / 1e9;
        System.out.println("{\"role\": \"publisher\", " + hash.fields() + ", \"seconds\": " + seconds +
            ", \"back_pressured\": " + backPressured + ", \"position\": " + publication.position() +
            ", \"term_length\": " + publication.termBufferLength() + "}");
    }

    private void serve()
    {
        idle.reset();
        while (orders.obey())
        {
            idle.idle();
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
