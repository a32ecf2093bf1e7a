import io.aeron.Aeron;
import io.aeron.Publication;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.concurrent.TimeUnit;

/**
 * Official client that publishes the messages of a seed, prints what it sent as one JSON object and stays until its
 * standard input ends, so that what was lost can still be sent again.
 */
final class Publisher
{
    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final int messages = options.integer("messages");
        final Payloads payloads = new Payloads(options.number("seed"), options.integer("length-max"));
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(options.number("timeout"));

        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir")));
            Publication publication = options.flag("exclusive") ?
                aeron.addExclusivePublication(options.text("channel"), options.integer("stream")) :
                aeron.addPublication(options.text("channel"), options.integer("stream")))
        {
            final UnsafeBuffer pool = new UnsafeBuffer(payloads.pool);
            final ContentHash hash = new ContentHash();
            final IdleStrategy idle = new BackoffIdleStrategy();
            long backPressured = 0;
            while (!publication.isConnected())
            {
                checkTime(deadline, "no subscriber");
                idle.idle();
            }

            final long started = System.nanoTime();
            for (int i = 0; i < messages; i++)
            {
                payloads.next();
                idle.reset();
                long result;
                while ((result = publication.offer(pool, payloads.start, payloads.length)) < 0)
                {
                    if (result != Publication.BACK_PRESSURED && result != Publication.ADMIN_ACTION)
                    {
                        throw new IllegalStateException("offer returned " + result + " at message " + i);
                    }
                    checkTime(deadline, "stuck at message " + i);
                    backPressured++;
                    idle.idle();
                }
                hash.add(payloads.pool, payloads.start, payloads.length);
            }
            final double seconds = (System.nanoTime() - started) / 1e9;

            System.out.println("{\"role\": \"publisher\", " + hash.fields() + ", \"seconds\": " + seconds +
                ", \"back_pressured\": " + backPressured + ", \"position\": " + publication.position() +
                ", \"term_length\": " + publication.termBufferLength() + "}");
            while (System.in.read() >= 0)
            {
                Thread.yield();
            }
        }
    }

    private static void checkTime(final long deadline, final String what)
    {
        if (System.nanoTime() - deadline > 0)
        {
            throw new IllegalStateException("timeout: " + what);
        }
    }
}
