import io.aeron.Aeron;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.PersistentSubscription;
import io.aeron.archive.client.PersistentSubscriptionListener;
import io.aeron.archive.client.ReplayMerge;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ToIntFunction;

/**
 * Official client that reads a stream from its recording on: {@code way=merge} by a ReplayMerge, {@code way=persistent} by a
 * PersistentSubscription. Says the event {@code live} once it reads the live stream, and at the end, when it has {@code messages}, their
 * hash, and how often it has joined and left the live stream.
 */
final class ArchiveReader
{
    private static final int FRAGMENT_LIMIT = 50;

    private final Arguments options;
    private final Aeron aeron;
    private final long deadline;
    private final long messages;
    private final IdleStrategy idle = new BackoffIdleStrategy();
    private final ContentHash hash = new ContentHash();
    private byte[] message = new byte[0];
    private int joined;
    private int left;

    private ArchiveReader(final Arguments options, final Aeron aeron)
    {
        this.options = options;
        this.aeron = aeron;
        messages = options.number("messages");
        deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));
    }

    public static void main(final String[] arguments)
    {
        final Arguments options = new Arguments(arguments);
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir"))))
        {
            final ArchiveReader reader = new ArchiveReader(options, aeron);
            if ("merge".equals(options.text("way")))
            {
                reader.merge();
            }
            else
            {
                reader.follow();
            }
        }
    }

    private AeronArchive.Context archiveContext()
    {
        return new AeronArchive.Context()
            .aeron(aeron)
            .controlRequestChannel(options.text("requests"))
            .controlResponseChannel(options.text("responses"))
            .messageTimeoutNs(TimeUnit.SECONDS.toNanos(60));
    }

    private void merge()
    {
        try (AeronArchive archive = AeronArchive.connect(archiveContext());
            Subscription subscription = aeron.addSubscription("aeron:udp?control-mode=manual", options.integer("stream"));
            ReplayMerge merge = new ReplayMerge(
                subscription,
                archive,
                "aeron:udp?session-id=" + options.integer("session"),
                options.text("replay"),
                options.text("live"),
                options.number("recording"),
                options.number("position", 0)))
        {
            read((handler) ->
            {
                final int fragments = merge.poll(handler, FRAGMENT_LIMIT);
                if (merge.hasFailed())
                {
                    throw new IllegalStateException(merge.toString());
                }
                return fragments;
            }, merge::isMerged);
        }
    }

    private void follow()
    {
        final PersistentSubscription.Context context = new PersistentSubscription.Context()
            .aeron(aeron)
            .aeronArchiveContext(archiveContext())
            .recordingId(options.number("recording"))
            .startPosition(options.number("position", PersistentSubscription.FROM_START))
            .liveChannel(options.text("live"))
            .liveStreamId(options.integer("stream"))
            .replayChannel(options.text("replay"))
            .replayStreamId(options.integer("stream") + 1)
            .listener(new PersistentSubscriptionListener()
            {
                @Override
                public void onLiveJoined()
                {
                    joined++;
                }

                @Override
                public void onLiveLeft()
                {
                    left++;
                }

                @Override
                public void onError(final Exception error)
                {
                    System.err.println(error);
                }
            });
        try (PersistentSubscription subscription = PersistentSubscription.create(context))
        {
            read((handler) ->
            {
                final int fragments = subscription.poll(handler, FRAGMENT_LIMIT);
                if (subscription.hasFailed())
                {
                    throw new IllegalStateException(subscription.failureReason());
                }
                return fragments;
            }, subscription::isLive);
        }
    }

    private void read(final ToIntFunction<FragmentHandler> poll, final BooleanSupplier isLive)
    {
        final FragmentAssembler assembler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            if (message.length < length)
            {
                message = new byte[length];
            }
            buffer.getBytes(offset, message, 0, length);
            hash.add(message, 0, length);
        });
        boolean wasLive = false;
        while (!wasLive || hash.messages() < messages)
        {
            final int fragments = poll.applyAsInt(assembler);
            if (!wasLive && isLive.getAsBoolean())
            {
                wasLive = true;
                System.out.println("{\"event\": \"live\", \"messages\": " + hash.messages() + "}");
            }
            if (System.nanoTime() > deadline)
            {
                throw new IllegalStateException("timed out after " + hash.messages() + " messages");
            }
            idle.idle(fragments);
        }
        System.out.println("{\"role\": \"reader\", \"joined\": " + joined + ", \"left\": " + left + ", " + hash.fields() + "}");
    }
}
