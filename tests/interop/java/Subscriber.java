import io.aeron.Aeron;
import io.aeron.Image;
import io.aeron.Subscription;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Official client that takes a number of messages, prints their hash as one JSON object and stays until its standard
 * input ends; a message too many changes the hash.
 *
 * <p>Orders: {@code pause} and {@code resume} polling, {@code add-destination URI}, {@code remove-destination URI},
 * {@code reject REASON} of every image, {@code state} to tell what became of images as the event {@code state}.
 * {@code destinations=} names those to begin with, separated by spaces; with
 * {@code images=true} it tells of each image that comes or goes;
 * {@code way=} says how to poll (Polling), and with {@code checks=true} every frame's reserved value is its checksum;
 * with {@code client=invoked} the client has no threads.
 */
final class Subscriber
{
    private static final long QUIET_NS = TimeUnit.MILLISECONDS.toNanos(200);

    private final Subscription subscription;
    private final Orders orders;
    private final ContentHash hash = new ContentHash();
    private final Polling polling;
    private final IdleStrategy idle = new BackoffIdleStrategy();
    private boolean isPaused;
    private static int gone;
    private static int ended;
    private static int revoked;
    private static long endPosition = -1;

    private Subscriber(final Subscription subscription, final Arguments options, final AgentInvoker invoker)
    {
        this.subscription = subscription;
        this.polling = new Polling(options.text("way", "plain"), hash, options.flag("checks"));
        this.orders = new Orders(Map.of(
            "pause", (rest) -> isPaused = true,
            "resume", (rest) -> isPaused = false,
            "add-destination", subscription::addDestination,
            "remove-destination", subscription::removeDestination,
            "reject", this::reject,
            "resolve", (rest) -> tellResolved(),
            "state", (rest) -> tellState()),
            invoker);
    }

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final boolean tellsImages = options.flag("images");
        final Aeron.Context context = new Aeron.Context().aeronDirectoryName(options.text("dir"))
            .useConductorAgentInvoker("invoked".equals(options.text("client", "")))
            .availableImageHandler((image) -> tell(tellsImages, true))
            .unavailableImageHandler((image) ->
            {
                onUnavailable(image);
                tell(tellsImages, false);
            });
        try (Aeron aeron = Aeron.connect(context);
            Subscription subscription = aeron.addSubscription(options.text("channel"), options.integer("stream")))
        {
            for (final String destination : options.list("destinations"))
            {
                subscription.addDestination(destination);
            }
            System.out.println("{\"role\": \"subscriber\", \"ready\": true, \"registration_id\": " +
                subscription.registrationId() + "}");
            final Subscriber subscriber = new Subscriber(subscription, options, aeron.conductorAgentInvoker());
            subscriber.receive(
                options.integer("messages"),
                System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout")));
            subscriber.serve();
        }
    }

    private static void tell(final boolean isAsked, final boolean isAvailable)
    {
        if (isAsked)
        {
            System.out.println("{\"event\": \"image\", \"available\": " + isAvailable + "}");
        }
    }

    private void receive(final int messages, final long deadline)
    {
        while (hash.messages() < messages)
        {
            if (System.nanoTime() - deadline > 0)
            {
                throw new IllegalStateException("timeout: " + hash.messages() + " of " + messages + " messages");
            }
            orders.obey();
            idle.idle(isPaused ? 0 : polling.poll(subscription));
        }

        final long quiet = System.nanoTime() + QUIET_NS;
        while (System.nanoTime() - quiet < 0)
        {
            idle.idle(polling.poll(subscription));
        }
        System.out.println("{\"role\": \"subscriber\", " + hash.fields() + ", " + polling.fields() + "}");
    }

    private void serve()
    {
        while (orders.obey())
        {
            idle.idle();
        }
    }

    private static synchronized void onUnavailable(final Image image)
    {
        gone++;
        ended += image.isEndOfStream() ? 1 : 0;
        revoked += image.isPublicationRevoked() ? 1 : 0;
        endPosition = image.isEndOfStream() ? image.endOfStreamPosition() : endPosition;
    }

    private void tellState()
    {
        synchronized (Subscriber.class)
        {
            System.out.println("{\"event\": \"state\", \"images\": " + subscription.imageCount() + ", \"gone\": " + gone +
                ", \"ended\": " + ended + ", \"revoked\": " + revoked + ", \"end\": " + endPosition + "}");
        }
    }

    private void tellResolved()
    {
        System.out.println("{\"event\": \"resolved\", \"endpoint\": \"" + subscription.resolvedEndpoint() +
            "\", \"channel\": \"" + subscription.tryResolveChannelEndpointPort() + "\", \"addresses\": [\"" +
            String.join("\", \"", subscription.localSocketAddresses()) + "\"]}");
    }

    private void reject(final String reason)
    {
        for (final Image image : subscription.images())
        {
            image.reject(reason);
        }
    }
}
