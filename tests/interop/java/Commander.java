import io.aeron.Aeron;
import io.aeron.Counter;
import io.aeron.status.ReadableCounter;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Official client that does what it is told until its standard input ends, and prints what came of it as JSON.
 *
 * <p>Orders: {@code add-counter TYPE KEY LABEL}, {@code add-static-counter TYPE REGISTRATION KEY LABEL}, {@code set VALUE} and {@code close} of
 * the counter added last, {@code find TYPE REGISTRATION} of anybody's, {@code session STREAM}.
 */
final class Commander
{
    private final Aeron aeron;
    private Counter counter;

    private Commander(final Aeron aeron)
    {
        this.aeron = aeron;
    }

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final Aeron.Context context = new Aeron.Context().aeronDirectoryName(options.text("dir"))
            .availableCounterHandler((reader, registrationId, id) -> tell("available", registrationId, id))
            .unavailableCounterHandler((reader, registrationId, id) -> tell("unavailable", registrationId, id));
        try (Aeron aeron = Aeron.connect(context))
        {
            final Commander commander = new Commander(aeron);
            final Orders orders = new Orders(Map.of(
                "add-counter", commander::addCounter,
                "add-static-counter", commander::addStaticCounter,
                "set", (value) -> commander.counter.setRelease(Long.parseLong(value)),
                "close", (rest) -> commander.counter.close(),
                "find", commander::find,
                "session", commander::session));
            System.out.println("{\"event\": \"ready\"}");
            while (orders.obey())
            {
                Thread.sleep(1);
            }
        }
    }

    private static void tell(final String event, final long registrationId, final int id)
    {
        System.out.println(
            "{\"event\": \"" + event + "\", \"registration_id\": " + registrationId + ", \"counter_id\": " + id + "}");
    }

    private void addCounter(final String rest)
    {
        final String[] words = rest.split(" ", 3);
        final UnsafeBuffer key = new UnsafeBuffer(words[1].getBytes(StandardCharsets.US_ASCII));
        final UnsafeBuffer label = new UnsafeBuffer(words[2].getBytes(StandardCharsets.US_ASCII));
        counter = aeron.addCounter(
            Integer.parseInt(words[0]), key, 0, key.capacity(), label, 0, label.capacity());
        tell("added", counter.registrationId(), counter.id());
    }

    private void addStaticCounter(final String rest)
    {
        final String[] words = rest.split(" ", 4);
        final UnsafeBuffer key = new UnsafeBuffer(words[2].getBytes(StandardCharsets.US_ASCII));
        final UnsafeBuffer label = new UnsafeBuffer(words[3].getBytes(StandardCharsets.US_ASCII));
        counter = aeron.addStaticCounter(
            Integer.parseInt(words[0]), key, 0, key.capacity(), label, 0, label.capacity(), Long.parseLong(words[1]));
        tell("added", counter.registrationId(), counter.id());
    }

    private void find(final String rest)
    {
        final String[] words = rest.split(" ");
        final int typeId = Integer.parseInt(words[0]);
        final long registrationId = Long.parseLong(words[1]);
        final CountersReader reader = aeron.countersReader();
        final int id = reader.findByTypeIdAndRegistrationId(typeId, registrationId);
        if (CountersReader.NULL_COUNTER_ID == id)
        {
            System.out.println("{\"event\": \"found\", \"counter_id\": -1}");
            return;
        }
        final byte[] key = new byte[8];
        reader.metaDataBuffer().getBytes(CountersReader.metaDataOffset(id) + CountersReader.KEY_OFFSET, key);
        try (ReadableCounter found = new ReadableCounter(reader, registrationId, id))
        {
            System.out.println("{\"event\": \"found\", \"counter_id\": " + id + ", \"value\": " + found.get() +
                ", \"label\": \"" + found.label() + "\", \"owner_id\": " + reader.getCounterOwnerId(id) +
                ", \"state\": " + found.state() +
                ", \"key\": \"" + new String(key, StandardCharsets.US_ASCII).trim() + "\"}");
        }
    }

    private void session(final String rest)
    {
        System.out.println("{\"event\": \"session\", \"session_id\": " + aeron.nextSessionId(Integer.parseInt(rest)) + "}");
    }
}
