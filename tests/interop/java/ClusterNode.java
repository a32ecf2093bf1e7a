import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.archive.Archive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.Header;
import io.aeron.security.Authenticator;
import io.aeron.security.AuthenticatorSupplier;
import io.aeron.security.AuthorisationService;
import io.aeron.security.AuthorisationServiceSupplier;
import io.aeron.security.SessionProxy;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.ShutdownSignalBarrier;
import org.agrona.concurrent.UnsafeBuffer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * An official member in one process: media driver, archive, consensus module and an echo service, configured by system properties.
 *
 * <p>The service says "opened" to each session that opens, and answers each message with itself. It keeps messages of 8 bytes, which are
 * numbers, in order and over snapshots; "applied" is answered with all of them, "runs" writes the runs of consecutive ones to standard
 * output, "principal" is answered with the session's principal, and "close" closes the session.
 */
final class ClusterNode
{
    public static void main(final String[] arguments)
    {
        try (ShutdownSignalBarrier barrier = new ShutdownSignalBarrier();
            ClusteredMediaDriver node = ClusteredMediaDriver.launch(
                new MediaDriver.Context().terminationHook(barrier::signalAll),
                new Archive.Context(),
                new ConsensusModule.Context().terminationHook(barrier::signalAll));
            ClusteredServiceContainer container = ClusteredServiceContainer.launch(new ClusteredServiceContainer.Context()
                .aeronDirectoryName(node.mediaDriver().aeronDirectoryName())
                .terminationHook(barrier::signalAll)
                .clusteredService(new EchoService())))
        {
            System.out.println("{\"event\": \"started\", \"service\": " + container.context().serviceId() + "}");
            barrier.await();
        }
    }

    static byte[] bytes(final String text)
    {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    static String text(final byte[] bytes)
    {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    private static final class EchoService implements ClusteredService
    {
        private static final long SAY_LIMIT_NS = TimeUnit.SECONDS.toNanos(2);
        private Cluster cluster;
        private final List<Long> numbers = new ArrayList<>();

        @Override
        public void onStart(final Cluster cluster, final Image snapshotImage)
        {
            this.cluster = cluster;
            if (null != snapshotImage)
            {
                while (!snapshotImage.isEndOfStream())
                {
                    snapshotImage.poll((buffer, offset, length, header) -> numbers.add(buffer.getLong(offset)), 10);
                    cluster.idleStrategy().idle();
                }
            }
        }

        @Override
        public void onSessionOpen(final ClientSession session, final long timestamp)
        {
            say(session, new UnsafeBuffer(bytes("opened")), 0, 6);
        }

        @Override
        public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
        {
        }

        @Override
        public void onSessionMessage(
            final ClientSession session,
            final long timestamp,
            final DirectBuffer buffer,
            final int offset,
            final int length,
            final Header header)
        {
            final String message = length > 16 ? "" : buffer.getStringWithoutLengthAscii(offset, length);
            if (Long.BYTES == length)
            {
                numbers.add(buffer.getLong(offset));
            }
            if ("close".equals(message))
            {
                session.close();
            }
            else if ("principal".equals(message))
            {
                final byte[] principal = session.encodedPrincipal();
                say(session, new UnsafeBuffer(principal), 0, principal.length);
            }
            else if ("applied".equals(message))
            {
                final UnsafeBuffer all = new UnsafeBuffer(new byte[Long.BYTES * numbers.size()]);
                for (int i = 0; i < numbers.size(); i++)
                {
                    all.putLong(Long.BYTES * i, numbers.get(i));
                }
                say(session, all, 0, all.capacity());
            }
            else
            {
                if ("runs".equals(message))
                {
                    System.out.println("{\"event\": \"runs\", \"runs\": \"" + runs() + "\"}");
                }
                say(session, buffer, offset, length);
            }
        }

        @Override
        public void onTimerEvent(final long correlationId, final long timestamp)
        {
        }

        @Override
        public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
        {
            final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Long.BYTES]);
            for (final long number : numbers)
            {
                buffer.putLong(0, number);
                while (snapshotPublication.offer(buffer) < 0)
                {
                    cluster.idleStrategy().idle();
                }
            }
        }

        @Override
        public void onRoleChange(final Cluster.Role newRole)
        {
            System.out.println("{\"event\": \"role\", \"role_name\": \"" + newRole + "\"}");
        }

        @Override
        public void onTerminate(final Cluster cluster)
        {
        }

        private String runs()
        {
            final StringBuilder runs = new StringBuilder();
            for (int begin = 0, end; begin < numbers.size(); begin = end)
            {
                for (end = begin + 1; end < numbers.size() && numbers.get(end) == numbers.get(end - 1) + 1; end++)
                {
                    continue;
                }
                runs.append(begin > 0 ? " " : "").append(numbers.get(begin)).append('-').append(numbers.get(end - 1));
            }
            return runs.toString();
        }

        private void say(final ClientSession session, final DirectBuffer buffer, final int offset, final int length)
        {
            final long deadlineNs = System.nanoTime() + SAY_LIMIT_NS;
            while (session.offer(buffer, offset, length) < 0 && System.nanoTime() - deadlineNs < 0)
            {
                cluster.idleStrategy().idle();
            }
        }
    }

    /** Accepts everyone under the name that the credentials are, challenges "hello", and rejects "bad". */
    public static final class Authentication implements AuthenticatorSupplier
    {
        @Override
        public Authenticator get()
        {
            return new Users();
        }
    }

    /** Permits all to "admin", and to everyone else what an official cluster permits by default: no snapshot. */
    public static final class Authorisation implements AuthorisationServiceSupplier
    {
        @Override
        public AuthorisationService get()
        {
            return (protocolId, actionId, type, principal) -> Arrays.equals(bytes("admin"), principal);
        }
    }

    private static final class Users implements Authenticator
    {
        private final Map<Long, String> said = new HashMap<>();
        private final Set<Long> challenged = new HashSet<>();

        @Override
        public void onConnectRequest(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            said.put(sessionId, text(encodedCredentials));
        }

        @Override
        public void onChallengeResponse(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            said.put(sessionId, text(encodedCredentials));
            challenged.add(sessionId);
        }

        @Override
        public void onConnectedSession(final SessionProxy session, final long nowMs)
        {
            final String name = said.get(session.sessionId());
            if ("hello".equals(name))
            {
                session.challenge(bytes("who-are-you"));
            }
            else if ("bad".equals(name))
            {
                session.reject();
            }
            else
            {
                session.authenticate(bytes(name));
            }
        }

        @Override
        public void onChallengedSession(final SessionProxy session, final long nowMs)
        {
            if (challenged.contains(session.sessionId()))
            {
                final String answer = said.get(session.sessionId());
                if ("bad".equals(answer))
                {
                    session.reject();
                }
                else
                {
                    session.authenticate(bytes(answer));
                }
            }
        }
    }
}
