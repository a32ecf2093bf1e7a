import io.aeron.CommonContext;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.cluster.ClusterControl;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.security.AuthorisationService;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.AtomicCounter;
import org.agrona.concurrent.status.CountersReader;

/**
 * A node whose services run elsewhere, all of them or some: driver, archive and consensus module, by system properties, with a client.
 * Arguments: {@code services=0 2} for containers of this process. Standard input takes a command a line: {@code connect ENDPOINTS},
 * {@code send TEXT}, {@code burst FIRST COUNT}, {@code poll COUNT}, {@code disconnect}, {@code toggle ACTION}, {@code terminated}. Each
 * command's answer is a JSON object.
 */
public final class ServiceNode
{
    private final List<ClusteredServiceContainer> containers = new ArrayList<>();
    private final ArchivingMediaDriver driver;
    private final ConsensusModule module;
    private volatile boolean isTerminated;
    private AeronCluster client;
    private int received;
    private int awaited;

    private ServiceNode(final Arguments arguments)
    {
        driver = ArchivingMediaDriver.launch(new MediaDriver.Context(), new Archive.Context());
        module = ConsensusModule.launch(new ConsensusModule.Context()
            .authorisationServiceSupplier(() -> AuthorisationService.ALLOW_ALL)
            .errorHandler(Throwable::printStackTrace)
            .terminationHook(() -> isTerminated = true));
        for (final String serviceId : arguments.list("services"))
        {
            containers.add(ClusteredServiceContainer.launch(new ClusteredServiceContainer.Context()
                .serviceId(Integer.parseInt(serviceId))
                .clusteredService(new CountingService())
                .errorHandler(Throwable::printStackTrace)));
        }
    }

    public static void main(final String[] args)
    {
        try
        {
            run(args);
        }
        catch (final Throwable failure)
        {
            failure.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(final String[] args) throws IOException
    {
        final ServiceNode node = new ServiceNode(new Arguments(args));
        say("ready", "");
        try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
        {
            for (String line = commands.readLine(); null != line; line = commands.readLine())
            {
                final int space = line.indexOf(' ');
                node.obey(space < 0 ? line : line.substring(0, space), space < 0 ? "" : line.substring(space + 1));
            }
        }
        node.close();
    }

    static synchronized void say(final String event, final String fields)
    {
        System.out.println("{\"event\": \"" + event + "\"" + (fields.isEmpty() ? "" : ", " + fields) + "}");
        System.out.flush();
    }

    private void obey(final String command, final String argument)
    {
        switch (command)
        {
            case "connect" -> connect(argument.split(" "));
            case "send" -> send(argument);
            case "burst" ->
            {
                final String[] numbers = argument.split(" ");
                burst(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
            }
            case "disconnect" ->
            {
                client.close();
                client = null;
                say("disconnected", "");
            }
            case "toggle" -> toggle(ClusterControl.ToggleState.valueOf(argument));
            case "poll" -> poll(Integer.parseInt(argument));
            case "terminated" ->
            {
                while (!isTerminated)
                {
                    Thread.onSpinWait();
                }
                say("terminated", "");
            }
            default -> throw new IllegalArgumentException(command);
        }
    }

    private void connect(final String[] channels)
    {
        final EgressListener listener = (clusterSessionId, timestamp, buffer, offset, length, header) ->
        {
            received++;
            say("egress", "\"session\": " + clusterSessionId + ", \"text\": \"" + text(buffer, offset, length) + "\"");
        };
        client = AeronCluster.connect(new AeronCluster.Context()
            .egressListener(listener)
            .ingressChannel("aeron:udp?term-length=64k")
            .ingressEndpoints(channels[0])
            .egressChannel("aeron:udp?endpoint=127.0.0.1:0")
            .messageTimeoutNs(60_000_000_000L));
        awaited = received;
        say("connected", "\"session\": " + client.clusterSessionId());
    }

    /** Send so many messages of 8 to 207 bytes that begin with consecutive numbers. */
    private void burst(final int first, final int count)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[208]);
        for (int number = first; number < first + count; number++)
        {
            buffer.putLong(0, number);
            while (client.offer(buffer, 0, 8 + number % 200) < 0)
            {
                client.pollEgress();
            }
        }
        say("sent", "");
    }

    private void send(final String text)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(text.getBytes(StandardCharsets.US_ASCII));
        while (client.offer(buffer, 0, buffer.capacity()) < 0)
        {
            client.pollEgress();
        }
        say("sent", "");
    }

    /** Poll until so many more messages have come, or the session has ended. */
    private void poll(final int count)
    {
        awaited += count;
        while (received < awaited && !client.isClosed())
        {
            client.pollEgress();
            Thread.onSpinWait();
        }
        say("polled", "\"is_closed\": " + client.isClosed());
    }

    private void toggle(final ClusterControl.ToggleState action)
    {
        final CountersReader counters = module.context().aeron().countersReader();
        AtomicCounter toggle = null;
        while (null == toggle || !action.toggle(toggle))
        {
            toggle = ClusterControl.findControlToggle(counters, module.context().clusterId());
            Thread.onSpinWait();
        }
        say("toggled", "");
    }

    private void close()
    {
        CloseHelper.closeAll(client, module);
        containers.forEach(CloseHelper::close);
        CloseHelper.close(driver);
    }

    static String text(final DirectBuffer buffer, final int offset, final int length)
    {
        return buffer.getStringWithoutLengthAscii(offset, length);
    }
}
