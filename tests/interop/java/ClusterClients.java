import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.cluster.codecs.AdminRequestType;
import io.aeron.cluster.codecs.AdminResponseCode;
import io.aeron.cluster.codecs.EventCode;
import io.aeron.exceptions.AeronException;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.Header;
import io.aeron.security.CredentialsSupplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Official clients of a cluster, each with a name, on the driver in {@code dir=}. They are polled, and keep their sessions alive, until
 * they are told otherwise. Orders:
 *
 * <p>{@code connect NAME KEY=VALUE ...} with ingress, endpoints, egress, credentials, answer and exclusive; {@code echo NAME COUNT SEED};
 * {@code say NAME TEXT}; {@code admin NAME ID}; {@code silence NAME}; {@code state NAME}; {@code close NAME}.
 */
final class ClusterClients
{
    private static final long KEEP_ALIVE_NS = TimeUnit.MILLISECONDS.toNanos(300);
    private static final int LENGTH_MAX = 6_000;

    private final Map<String, Client> clients = new HashMap<>();
    private final String directory;

    private ClusterClients(final String directory)
    {
        this.directory = directory;
    }

    public static void main(final String[] arguments)
    {
        final ClusterClients all = new ClusterClients(new Arguments(arguments).text("dir"));
        final Orders orders = new Orders(Map.of(
            "connect", all::connect,
            "echo", text -> all.named(text).echo(text.split(" ")),
            "say", text -> all.named(text).offer(text.substring(text.indexOf(' ') + 1)),
            "admin", text -> all.named(text).cluster.sendAdminRequestToTakeASnapshot(Long.parseLong(text.split(" ")[1])),
            "silence", text -> all.named(text).isSilent = true,
            "state", text -> all.named(text).tellState(),
            "close", text -> all.clients.remove(text).cluster.close()));
        while (orders.obey())
        {
            int work = 0;
            for (final Client client : all.clients.values())
            {
                work += client.poll();
            }
            if (0 == work)
            {
                LockSupport.parkNanos(100_000);
            }
        }
        all.clients.values().forEach((client) -> client.cluster.close());
    }

    private Client named(final String text)
    {
        return clients.get(text.split(" ")[0]);
    }

    private void connect(final String text)
    {
        final String[] words = text.split(" ");
        final String[] given = new String[words.length - 1];
        System.arraycopy(words, 1, given, 0, given.length);
        final Arguments options = new Arguments(given);
        final Client client = new Client(words[0]);
        final AeronCluster.Context context = new AeronCluster.Context()
            .aeronDirectoryName(directory)
            .ingressChannel(options.text("ingress"))
            .egressChannel(options.text("egress"))
            .isIngressExclusive(options.flag("exclusive"))
            .messageTimeoutNs(TimeUnit.SECONDS.toNanos(60))
            .credentialsSupplier(credentials(options.text("credentials", ""), options.text("answer", "")))
            .egressListener(client);
        if (!options.text("endpoints", "").isEmpty())
        {
            context.ingressEndpoints(options.text("endpoints"));
        }
        try
        {
            client.cluster = AeronCluster.connect(context);
            clients.put(client.name, client);
            client.tellState();
        }
        catch (final AeronException refusal)
        {
            tell(client.name, "refused", "\"error\": \"" + refusal.getMessage().replace('"', '\'') + "\"");
        }
    }

    private static CredentialsSupplier credentials(final String first, final String answer)
    {
        return new CredentialsSupplier()
        {
            @Override
            public byte[] encodedCredentials()
            {
                return first.getBytes(StandardCharsets.US_ASCII);
            }

            @Override
            public byte[] onChallenge(final byte[] encodedChallenge)
            {
                return answer.getBytes(StandardCharsets.US_ASCII);
            }
        };
    }

    private static void tell(final String name, final String event, final String fields)
    {
        System.out.println("{\"event\": \"" + event + "\", \"client\": \"" + name + "\", " + fields + "}");
    }

    private static final class Client implements EgressListener
    {
        final String name;
        AeronCluster cluster;
        boolean isSilent;
        private final Queue<byte[]> expected = new ArrayDeque<>();
        private final BufferClaim claim = new BufferClaim();
        private long keepAliveNs = System.nanoTime();

        Client(final String name)
        {
            this.name = name;
        }

        int poll()
        {
            final long nowNs = System.nanoTime();
            if (!isSilent && !cluster.isClosed() && nowNs - keepAliveNs >= 0)
            {
                keepAliveNs = nowNs + KEEP_ALIVE_NS;
                cluster.sendKeepAlive();
            }
            return cluster.pollEgress();
        }

        /** Send messages of random length, by claim and by offer in turn, and compare each with its echo. */
        void echo(final String[] words)
        {
            final int count = Integer.parseInt(words[1]);
            final Payloads payloads = new Payloads(Long.parseLong(words[2]), LENGTH_MAX);
            final UnsafeBuffer pool = new UnsafeBuffer(payloads.pool);
            for (int number = 0; number < count; number++)
            {
                payloads.next();
                final int length = Math.max(payloads.length, 17);
                final byte[] message = new byte[length];
                pool.getBytes(payloads.start, message);
                expected.add(message);
                final boolean isClaimed = 0 == number % 3 &&
                    length + AeronCluster.SESSION_HEADER_LENGTH <= cluster.ingressPublication().maxPayloadLength();
                while (!(isClaimed ? claimed(message) : cluster.offer(new UnsafeBuffer(message), 0, length) > 0))
                {
                    poll();
                }
            }
            while (!expected.isEmpty())
            {
                poll();
            }
            tell(name, "echoed", "\"messages\": " + count + ", \"terms\": " +
                cluster.ingressPublication().position() / cluster.ingressPublication().termBufferLength());
        }

        void offer(final String text)
        {
            final UnsafeBuffer buffer = new UnsafeBuffer(text.getBytes(StandardCharsets.US_ASCII));
            while (cluster.offer(buffer, 0, buffer.capacity()) < 0)
            {
                poll();
            }
        }

        void tellState()
        {
            tell(name, "state", "\"is_closed\": " + cluster.isClosed() + ", \"session\": " + cluster.clusterSessionId() +
                ", \"term\": " + cluster.leadershipTermId() + ", \"leader\": " + cluster.leaderMemberId());
        }

        private boolean claimed(final byte[] message)
        {
            if (cluster.tryClaim(message.length, claim) < 0)
            {
                return false;
            }
            claim.buffer().putBytes(claim.offset() + AeronCluster.SESSION_HEADER_LENGTH, message);
            claim.commit();
            return true;
        }

        @Override
        public void onMessage(
            final long clusterSessionId,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            if (expected.isEmpty() || length <= 16)
            {
                tell(name, "message", "\"text\": \"" + buffer.getStringWithoutLengthAscii(offset, length) + "\"");
            }
            else if (!new UnsafeBuffer(expected.remove()).equals(new UnsafeBuffer(buffer, offset, length)))
            {
                throw new IllegalStateException(name + ": an echo of " + length + " bytes differs");
            }
        }

        @Override
        public void onSessionEvent(
            final long correlationId,
            final long clusterSessionId,
            final long leadershipTermId,
            final int leaderMemberId,
            final EventCode code,
            final String detail)
        {
            tell(name, "session", "\"code\": \"" + code + "\", \"detail\": \"" + detail + "\"");
        }

        @Override
        public void onNewLeader(
            final long clusterSessionId, final long leadershipTermId, final int leaderMemberId, final String ingressEndpoints)
        {
            tell(name, "leader", "\"term\": " + leadershipTermId + ", \"leader\": " + leaderMemberId);
        }

        @Override
        public void onAdminResponse(
            final long clusterSessionId,
            final long correlationId,
            final AdminRequestType requestType,
            final AdminResponseCode responseCode,
            final String message,
            final DirectBuffer payload,
            final int payloadOffset,
            final int payloadLength)
        {
            tell(name, "admin", "\"id\": " + correlationId + ", \"code\": \"" + responseCode + "\"");
        }
    }
}
