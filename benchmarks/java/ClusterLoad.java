import io.aeron.Aeron;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

import java.util.Arrays;

/**
 * The official client of a cluster with an echo service, with the arguments of benchmarks/cluster/load.py: directory of the driver, ingress
 * endpoints, bytes of a message, round trips to warm up, round trips, messages of the throughput, messages in flight.
 *
 * Prints one JSON object. A client that waits yields; nothing else is in its thread.
 */
final class ClusterLoad implements EgressListener, AutoCloseable
{
    private final UnsafeBuffer message;
    private final Aeron aeron;
    private final AeronCluster cluster;
    private long received;

    private ClusterLoad(final String directory, final String endpoints, final int length)
    {
        message = new UnsafeBuffer(new byte[length]);
        aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(directory));
        cluster = AeronCluster.connect(new AeronCluster.Context()
            .aeron(aeron).egressListener(this).messageTimeoutNs(60_000_000_000L)
            .ingressChannel("aeron:udp").ingressEndpoints(endpoints).egressChannel("aeron:udp?endpoint=127.0.0.1:0"));
    }

    public static void main(final String[] arguments)
    {
        try (ClusterLoad load = new ClusterLoad(arguments[0], arguments[1], Integer.parseInt(arguments[2])))
        {
            load.roundTrips(Integer.parseInt(arguments[3]));
            final long[] samples = load.roundTrips(Integer.parseInt(arguments[4]));
            final int messages = Integer.parseInt(arguments[5]);
            final int inFlight = Integer.parseInt(arguments[6]);
            load.throughput(messages, inFlight);
            System.out.printf("{\"p50_us\": %.3f, \"p99_us\": %.3f, \"messages_per_s\": %.1f}%n",
                at(samples, 0.5), at(samples, 0.99), load.throughput(messages, inFlight));
        }
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
        received++;
    }

    @Override
    public void close()
    {
        cluster.close();
        aeron.close();
    }

    private long[] roundTrips(final int count)
    {
        final long[] samples = new long[count];
        for (int i = 0; i < count; i++)
        {
            final long begin = System.nanoTime();
            final long target = received + 1;
            while (!offer())
            {
                poll();
            }
            while (received < target)
            {
                poll();
            }
            samples[i] = System.nanoTime() - begin;
        }
        Arrays.sort(samples);
        return samples;
    }

    private double throughput(final int messages, final int inFlight)
    {
        final long begin = System.nanoTime();
        final long first = received;
        long sent = 0;
        while (received - first < messages)
        {
            while (sent < messages && sent - (received - first) < inFlight && offer())
            {
                sent++;
            }
            poll();
        }
        return messages / ((System.nanoTime() - begin) / 1e9);
    }

    private boolean offer()
    {
        return cluster.offer(message, 0, message.capacity()) > 0;
    }

    private void poll()
    {
        if (0 == cluster.pollEgress())
        {
            if (cluster.isClosed())
            {
                throw new IllegalStateException("the cluster has closed the session");
            }
            Thread.yield();
        }
    }

    private static double at(final long[] sorted, final double share)
    {
        return sorted[(int)Math.round((sorted.length - 1) * share)] / 1000.0;
    }
}
