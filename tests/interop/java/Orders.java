import org.agrona.concurrent.AgentInvoker;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

/**
 * Orders that a test gives a running peer: lines on its standard input, each answered by a JSON object when it has been
 * carried out. The thread that calls {@code obey} carries them out.
 */
final class Orders
{
    private final Map<String, Consumer<String>> table;
    private final AgentInvoker invoker;
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private volatile boolean ended;

    Orders(final Map<String, Consumer<String>> table)
    {
        this(table, null);
    }

    /** The invoker does the work of a client without threads; null when it has its own. */
    Orders(final Map<String, Consumer<String>> table, final AgentInvoker invoker)
    {
        this.table = table;
        this.invoker = invoker;
        final Thread reader = new Thread(this::read, "orders");
        reader.setDaemon(true);
        reader.start();
    }

    /** Carry out what has arrived; false once standard input has ended and nothing is left. */
    boolean obey()
    {
        if (null != invoker)
        {
            invoker.invoke();
        }
        boolean over = ended;
        String line;
        while ((line = lines.poll()) != null)
        {
            final int space = line.indexOf(' ');
            final String order = space < 0 ? line : line.substring(0, space);
            table.get(order).accept(space < 0 ? "" : line.substring(space + 1));
            System.out.println("{\"event\": \"obeyed\", \"order\": \"" + order + "\"}");
            over = false;
        }
        return !over;
    }

    private void read()
    {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
        {
            String line;
            while ((line = input.readLine()) != null)
            {
                lines.add(line);
            }
        }
        catch (final IOException ex)
        {
            System.err.println("standard input: " + ex);
        }
        ended = true;
    }
}
