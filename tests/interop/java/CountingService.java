import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.logbuffer.Header;
import java.nio.charset.StandardCharsets;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Counts messages, and obeys them: {@code echo TEXT}, {@code timer ID DELAY}, {@code cancel ID}, {@code tell TEXT} (a message to all
 * services), {@code close}, {@code fail}. Prints each event. The counterpart of tests/interop/cluster/counting_service.py.
 */
final class CountingService implements ClusteredService
{
    private Cluster cluster;
    private long count;

    public void onStart(final Cluster cluster, final Image snapshotImage)
    {
        this.cluster = cluster;
        while (null != snapshotImage && !snapshotImage.isEndOfStream() && !snapshotImage.isClosed() && 0 == count)
        {
            snapshotImage.poll((buffer, offset, length, header) -> count = buffer.getLong(offset), 1);
            cluster.idleStrategy().idle();
        }
        note("start", "\"count\": " + count + ", \"sessions\": " + cluster.clientSessions().size());
    }

    public void onSessionOpen(final ClientSession session, final long timestamp)
    {
        note("open", "\"session\": " + session.id() + ", \"principal\": " + session.encodedPrincipal().length);
    }

    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
    {
        note("close", "\"session\": " + session.id() + ", \"reason\": \"" + closeReason + "\"");
    }

    public void onSessionMessage(
        final ClientSession session,
        final long timestamp,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        final String text = ServiceNode.text(buffer, offset, length);
        count++;
        note("message", "\"session\": " + (null == session ? "null" : session.id()) + ", \"text\": \"" + text + "\"");
        final String[] words = text.split(" ", 2);
        switch (null == session ? "" : words[0])
        {
            case "echo" -> echo(session, words[1]);
            case "timer" ->
            {
                final String[] numbers = words[1].split(" ");
                cluster.scheduleTimer(Long.parseLong(numbers[0]), timestamp + Long.parseLong(numbers[1]));
            }
            case "cancel" -> cluster.cancelTimer(Long.parseLong(words[1]));
            case "tell" ->
            {
                final UnsafeBuffer told = bytes(words[1]);
                cluster.offer(told, 0, told.capacity());
            }
            case "close" -> session.close();
            case "fail" -> throw new IllegalStateException(text);
            default ->
            {
                // only counted
            }
        }
    }

    public void onTimerEvent(final long correlationId, final long timestamp)
    {
        note("timer", "\"id\": " + correlationId);
    }

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[8]);
        buffer.putLong(0, count);
        while (snapshotPublication.offer(buffer, 0, 8) < 0)
        {
            cluster.idleStrategy().idle();
        }
        note("snapshot", "\"count\": " + count);
    }

    public void onRoleChange(final Cluster.Role newRole)
    {
        note("role", "\"role\": \"" + newRole + "\"");
    }

    public void onTerminate(final Cluster cluster)
    {
        note("terminate", "\"count\": " + count);
    }

    private void echo(final ClientSession session, final String text)
    {
        final UnsafeBuffer echoed = bytes(cluster.context().serviceId() + ":" + text);
        while (session.offer(echoed, 0, echoed.capacity()) < 0)
        {
            cluster.idleStrategy().idle();
        }
    }

    private void note(final String what, final String fields)
    {
        ServiceNode.say("service", "\"service\": " + cluster.context().serviceId() + ", \"what\": \"" + what + "\", \"position\": " +
            cluster.logPosition() + ", \"time\": " + cluster.time() + ", " + fields);
    }

    private static UnsafeBuffer bytes(final String text)
    {
        return new UnsafeBuffer(text.getBytes(StandardCharsets.US_ASCII));
    }
}
