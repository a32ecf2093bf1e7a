import io.aeron.ChannelUriStringBuilder;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Publication;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ArchiveException;
import io.aeron.archive.client.ControlResponsePoller;
import io.aeron.archive.client.ReplayParams;
import io.aeron.archive.client.ReplicationParams;
import io.aeron.archive.codecs.ControlResponseCode;
import io.aeron.archive.codecs.ControlResponseDecoder;
import io.aeron.archive.codecs.MessageHeaderDecoder;
import io.aeron.archive.codecs.RecordingDescriptorDecoder;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.logbuffer.FragmentHandler;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/**
 * Operations on an archive with limits by the official client: what tests/interop/archive/limited_operations.py does with ours, in the same
 * order and by the same names. {@code archives=} names the control channels of several, {@code events=} those of their recording events,
 * {@code full=} the control channels of archives without space; the event {@code done} follows the operations of each.
 */
final class LimitedArchiveOperations extends ArchiveWork
{
    private static final int RECORDINGS_MAX = 3;
    private static final int REPLAYS_MAX = 2;
    private static final int STREAM_ID = 1201;
    private static final int REPLAY_STREAM_ID = 2201;
    private static final int FRAME = 1024;
    private static final int SEGMENT = 64 * 1024;
    private static final int MTU = 1408;
    private static final String IPC = "aeron:ipc";
    private static final int TERM_ID = 77;
    private static final int LONG = 3900;

    private final String source;
    private final String eventsChannel;

    private LimitedArchiveOperations(final Arguments options, final String requests, final String eventsChannel)
    {
        super(options, requests, FRAME - 32);
        source = requests;
        this.eventsChannel = eventsChannel;
    }

    public static void main(final String[] arguments) throws Exception
    {
        final Arguments options = new Arguments(arguments);
        final String[] archives = options.list("archives");
        for (int index = 0; index < archives.length; index++)
        {
            final String events = options.list("events")[index];
            try (LimitedArchiveOperations operations = new LimitedArchiveOperations(options, archives[index], events))
            {
                operations.run();
            }
            System.out.println("{\"event\": \"done\"}");
        }
        for (final String requests : options.list("full"))
        {
            try (LimitedArchiveOperations operations = new LimitedArchiveOperations(options, requests, ""))
            {
                operations.runWithoutSpace();
            }
            System.out.println("{\"event\": \"done\"}");
        }
        System.out.println("{\"role\": \"operations\"}");
    }

    private static String channel(final Object name)
    {
        return "aeron:ipc?term-length=64k|alias=" + name;
    }

    private void run()
    {
        first = ids(0).count();
        record();
        replay();
        extend();
        segments();
        refuseMigrations();
        replicate();
        list();
        oldRequests();
    }

    private void runWithoutSpace()
    {
        say("record without space", () -> archive.startRecording(channel(0), STREAM_ID, SourceLocation.LOCAL));
        say("list without space", () -> archive.listRecordings(0, 10, this::ignore));
    }

    private void record()
    {
        final RecordingWatch watch = new RecordingWatch(aeron, archive.archiveId(), first, eventsChannel);
        until("recording events", watch::isConnected);
        final List<Publication> publications = new ArrayList<>();
        final long[] subscriptions = new long[RECORDINGS_MAX];
        for (int number = 0; number < RECORDINGS_MAX; number++)
        {
            publications.add(aeron.addExclusivePublication(channel(number), STREAM_ID + number));
        }
        final int[] messages = { 70, 1, 0 };
        for (int number = 0; number < RECORDINGS_MAX; number++)
        {
            subscriptions[number] = archive.startRecording(channel(number), STREAM_ID + number, SourceLocation.LOCAL);
            publish(publications.get(number), messages[number]);
            recorded(first + number, (long)messages[number] * FRAME);
        }
        say("counter of a position", () -> watch.counterOf(publications.get(0).sessionId()));
        say("record one too many", () -> archive.startRecording(channel(3), STREAM_ID + 3, SourceLocation.LOCAL));
        say("extend one too many", () -> archive.extendRecording(first, channel(0), STREAM_ID, SourceLocation.LOCAL));
        say("subscriptions", this::subscriptions);
        say("update channel of active", () -> done(() -> archive.updateChannel(first, channel(0))));
        for (final String turn : new String[]{ "", " again" })
        {
            say("stop by identity" + turn, () -> archive.tryStopRecordingByIdentity(first));
            say("stop by channel" + turn, () -> archive.tryStopRecording(channel(1), STREAM_ID + 1));
            say("stop by subscription" + turn, () -> archive.tryStopRecording(subscriptions[2]));
        }
        publications.forEach(Publication::close);
        for (int number = 0; number < RECORDINGS_MAX; number++)
        {
            final long recordingId = first + number;
            stopped(recordingId);
            say("positions of " + number, () -> positions(recordingId));
        }
        until("the end of the recording events", watch::hasStopped);
        say("recording events", watch::events);
        watch.close();
        try (Publication shared = archive.addRecordedPublication(channel(3), STREAM_ID + 3))
        {
            publish(shared, 1);
            recorded(first + 3, FRAME);
            say("stop by publication", () -> done(() -> archive.stopRecording(shared)));
        }
        say("positions of 3", () -> positions(first + 3));
        say("ids from the second on", () ->
            ids(first + 1).limit(2).map((id) -> String.valueOf(id - first)).collect(Collectors.joining(" ")));
        say("ids for a channel", () -> idsFor("alias=2", STREAM_ID + 2));
        say("subscriptions after it", this::subscriptions);
    }

    private void replay()
    {
        final long[] replays = new long[REPLAYS_MAX];
        for (int number = 0; number < REPLAYS_MAX; number++)
        {
            replays[number] = follow();
        }
        say("replay one too many", this::follow);
        say("purge while it is replayed", () -> archive.purgeRecording(first));
        say("detach while it is replayed", () -> done(() -> archive.detachSegments(first, SEGMENT)));
        say("stop a replay", () -> done(() -> archive.stopReplay(replays[0])));
        say("replay when there is room again", () -> inTime(this::follow) >= 0);
        say("stop all replays", () -> done(() -> archive.stopAllReplays(first)));
        say("truncate when no replay is left", () -> inTime(() -> archive.truncateRecording(first, 65 * FRAME)));
        say("replay what is empty", () -> inTime(
            () -> archive.startReplay(first + 2, IPC, REPLAY_STREAM_ID, empty()), (code) -> ArchiveException.MAX_REPLAYS == code));
        say("stop what is left", () -> done(() -> archive.stopAllReplays(first + 2)));
    }

    private void extend()
    {
        final long recordingId = first + 1;
        final int[] found = new int[2];
        archive.listRecording(recordingId, (a, b, id, d, e, f, g, initial, i, j, mtu, l, m, n, o, p) ->
        {
            found[0] = initial;
            found[1] = mtu;
        });
        final int termId = found[0];
        final int mtu = found[1];
        extend(recordingId, "position", 2 * FRAME, termId, SEGMENT, mtu);
        extend(recordingId, "initial term", FRAME, termId + 1, SEGMENT, mtu);
        extend(recordingId, "term length", FRAME, termId, 2 * SEGMENT, mtu);
        extend(recordingId, "mtu", FRAME, termId, SEGMENT, 1280);
        say("positions after them", () -> positions(recordingId));
        final String right = new ChannelUriStringBuilder("aeron:ipc?alias=1").initialPosition(FRAME, termId, SEGMENT).build();
        signals.clear();
        archive.extendRecording(recordingId, channel(1), STREAM_ID + 1, SourceLocation.LOCAL, true);
        try (Publication publication = aeron.addExclusivePublication(right, STREAM_ID + 1))
        {
            publish(publication, 1);
            recorded(recordingId, 2 * FRAME);
        }
        takeSignals("an extension that stops by itself", "STOP");
        until("no subscription", () -> subscriptions().isEmpty());
        say("subscriptions of it", this::subscriptions);
    }

    private void extend(
        final long recordingId, final String name, final long position, final int termId, final int termLength, final int mtu)
    {
        archive.extendRecording(recordingId, channel(1), STREAM_ID + 1, SourceLocation.LOCAL);
        final String wrong = new ChannelUriStringBuilder("aeron:ipc?alias=1")
            .initialPosition(position, termId, termLength).mtu(mtu).build();
        try (Publication publication = aeron.addExclusivePublication(wrong, STREAM_ID + 1))
        {
            say("extend with another " + name, () ->
            {
                idle.reset();
                while (true)
                {
                    archive.checkForErrorResponse();
                    checkTime("an error for " + publication);
                    idle.idle();
                }
            });
        }
        say("stop after another " + name, () -> archive.tryStopRecording(channel(1), STREAM_ID + 1));
    }

    private void segments()
    {
        final long early = recordAt(10 * FRAME, 118, MTU, STREAM_ID);
        say("detach", () -> done(() -> archive.detachSegments(early, SEGMENT)));
        say("positions of detached", () -> positions(early));
        say("attach", () -> archive.attachSegments(early));
        say("positions of attached", () -> positions(early));
        say("replay attached", () -> replayed(early));
        say("detach again", () -> done(() -> archive.detachSegments(early, SEGMENT)));
        say("delete detached", () -> archive.deleteDetachedSegments(early));
        takeSignals("delete detached", "DELETE");
        say("attach deleted", () -> archive.attachSegments(early));

        final long late = recordAt(2 * SEGMENT, 70, MTU, STREAM_ID);
        say("migrate to the recording that follows", () -> archive.migrateSegments(early, late));
        takeSignals("migrate", "DELETE");
        say("positions of what is empty", () -> positions(early));
        say("positions of what was joined", () -> positions(late));
        say("replay what was joined", () -> replayed(late));
        say("migrate what is empty", () -> archive.migrateSegments(early, late));

        final long before = recordAt(0, 70, MTU, STREAM_ID);
        say("truncate to a segment", () -> archive.truncateRecording(before, SEGMENT));
        takeSignals("truncate", "DELETE");
        final long behind = recordAt(SEGMENT, 80, MTU, STREAM_ID);
        say("migrate to the recording before", () -> archive.migrateSegments(behind, before));
        takeSignals("migrate back", "DELETE");
        say("positions of both", () -> positions(before) + ", " + positions(behind));
        say("replay both", () -> replayed(before));
        say("purge segments of both", () -> archive.purgeSegments(before, 2 * SEGMENT));
        takeSignals("purge segments", "DELETE");
        say("replay the rest", () -> replayed(before));
    }

    private void refuseMigrations()
    {
        final long small = recordAt(0, 10, MTU, STREAM_ID);
        final long next = recordAt(10 * FRAME, 10, MTU, STREAM_ID);
        final long otherMtu = recordAt(20 * FRAME, 1, 1280, STREAM_ID);
        final long otherStream = recordAt(20 * FRAME, 1, MTU, STREAM_ID + 1);
        say("migrate within a segment", () -> archive.migrateSegments(small, next));
        say("migrate another mtu", () -> archive.migrateSegments(otherMtu, next));
        say("migrate another stream", () -> archive.migrateSegments(otherStream, next));
        say("migrate unknown", () -> archive.migrateSegments(9999, small));
        say("migrate to unknown", () -> archive.migrateSegments(small, 9999));
    }

    private void replicate()
    {
        final long before = last();
        try (ExclusivePublication publication = archive.addRecordedExclusivePublication(channel("source"), STREAM_ID))
        {
            publish(publication, 3);
            final long recordingId = recordingAfter(before);
            recorded(recordingId, publication.position());
            say("migrate active", () -> archive.migrateSegments(recordingId, first));
            say("replicate to active", () -> copy(recordingId, new ReplicationParams().dstRecordingId(recordingId)));
            final String response = "aeron:udp?control-mode=response|control=localhost:10001";
            say("replicate by response with tags", () ->
                copy(recordingId, new ReplicationParams().replicationChannel(response).channelTagId(7)));
            say("replicate by response with live", () ->
                copy(recordingId, new ReplicationParams().replicationChannel(response).liveDestination("aeron:udp?endpoint=localhost:0")));
            stopCopy(recordingId, (replicationId) -> done(() -> archive.stopReplication(replicationId)));
            stopCopy(recordingId, archive::tryStopReplication);
            archive.stopRecording(publication);
        }
    }

    private interface Stop
    {
        Object of(long replicationId);
    }

    private void stopCopy(final long recordingId, final Stop stop)
    {
        signals.clear();
        final long replicationId = copy(recordingId, new ReplicationParams());
        awaitSignals("REPLICATE", "EXTEND");
        final long copy = last();
        recorded(copy, 3 * FRAME);
        say("stop a replication", () -> stop.of(replicationId));
        awaitSignals("STOP", "REPLICATE_END");
        say("signals of it", () -> names().sorted().collect(Collectors.joining(" ")));
        say("positions of the copy", () -> positions(copy));
        say("stop it again", () -> stop.of(replicationId));
    }

    private void list()
    {
        say("recordings in the end", () -> archive.listRecordings(first, 1000, this::ignore));
        final List<Long> all = ids(first).collect(Collectors.toList());
        all.forEach((id) -> archive.updateChannel(id, channel("x".repeat(LONG))));
        // The first fills the window of its session before the second comes.
        final long[] listings = { aeron.nextCorrelationId(), aeron.nextCorrelationId() };
        final int[] descriptors = new int[2];
        final String[] ends = new String[2];
        for (final long listing : listings)
        {
            archive.archiveProxy().listRecordings(first, 1000, listing, archive.controlSessionId());
        }
        final MessageHeaderDecoder header = new MessageHeaderDecoder();
        final FragmentHandler handler = new FragmentAssembler((buffer, offset, length, ignored) ->
        {
            header.wrap(buffer, offset);
            if (RecordingDescriptorDecoder.TEMPLATE_ID == header.templateId())
            {
                final RecordingDescriptorDecoder descriptor = new RecordingDescriptorDecoder().wrapAndApplyHeader(buffer, offset, header);
                descriptors[listings[0] == descriptor.correlationId() ? 0 : 1]++;
            }
            else if (ControlResponseDecoder.TEMPLATE_ID == header.templateId())
            {
                final ControlResponseDecoder response = new ControlResponseDecoder().wrapAndApplyHeader(buffer, offset, header);
                if (ControlResponseCode.ERROR == response.code())
                {
                    ends[listings[0] == response.correlationId() ? 0 : 1] = "error " + response.relevantId();
                }
            }
        });
        idle.reset();
        while (descriptors[0] < all.size() || null == ends[1])
        {
            checkTime("listings");
            idle.idle(archive.controlResponsePoller().subscription().poll(handler, 10));
        }
        say("listing 0", () -> descriptors[0]);
        say("listing 1", () -> ends[1]);
    }

    /** Requests that clients sent before there were newer ones; ours has no calls for them. */
    private void oldRequests()
    {
        final String channel = channel("old");
        final long before = last();
        final long recordingId;
        try (ExclusivePublication publication = aeron.addExclusivePublication(channel, STREAM_ID))
        {
            say("old: start recording", () -> ask((id) ->
                archive.archiveProxy().startRecording(channel, STREAM_ID, SourceLocation.LOCAL, id, archive.controlSessionId())));
            publish(publication, 1);
            recordingId = recordingAfter(before);
            recorded(recordingId, FRAME);
        }
        stopped(recordingId);
        archive.stopRecording(channel, STREAM_ID);
        say("old: extend recording", () -> ask((id) -> archive.archiveProxy().extendRecording(
            channel, STREAM_ID, SourceLocation.LOCAL, recordingId, id, archive.controlSessionId())));
        archive.stopRecording(channel, STREAM_ID);
        say("old: positions", () -> positions(recordingId));
    }

    /** Sends a request by its own means, and returns the code of the response. */
    private String ask(final LongPredicate request)
    {
        final long correlationId = aeron.nextCorrelationId();
        if (!request.test(correlationId))
        {
            throw new IllegalStateException("no room for a request");
        }
        final ControlResponsePoller poller = archive.controlResponsePoller();
        idle.reset();
        while (!poller.isPollComplete() || poller.correlationId() != correlationId)
        {
            checkTime("a response");
            idle.idle(poller.poll());
        }
        return String.valueOf(poller.code());
    }

    private String subscriptions()
    {
        final List<String> found = new ArrayList<>();
        archive.listRecordingSubscriptions(0, 10, "", 0, false, (a, b, c, stream, stripped) -> found.add(stripped + "/" + stream));
        return found.stream().sorted().collect(Collectors.joining(" "));
    }

    private String idsFor(final String fragment, final int streamId)
    {
        final List<String> found = new ArrayList<>();
        archive.listRecordingsForUri(first, 10, fragment, streamId, (a, b, id, d, e, f, g, h, i, j, k, l, m, n, o, p) ->
            found.add(String.valueOf(id - first)));
        return String.join(" ", found);
    }

    private long copy(final long recordingId, final ReplicationParams params)
    {
        return archive.replicate(recordingId, 10, source, params);
    }

    private long recordAt(final long position, final int messages, final int mtu, final int streamId)
    {
        final String channel = new ChannelUriStringBuilder("aeron:ipc?alias=at-" + position)
            .initialPosition(position, TERM_ID, SEGMENT).mtu(mtu).build();
        final long before = last();
        final long recordingId;
        try (ExclusivePublication publication = archive.addRecordedExclusivePublication(channel, streamId))
        {
            publish(publication, messages);
            recordingId = recordingAfter(before);
            recorded(recordingId, publication.position());
            archive.stopRecording(publication);
        }
        stopped(recordingId);
        signals.clear();
        return recordingId;
    }

    private long follow()
    {
        return archive.startReplay(first, IPC, REPLAY_STREAM_ID, new ReplayParams().position(0));
    }

    private static ReplayParams empty()
    {
        return new ReplayParams().length(AeronArchive.REPLAY_ALL_AND_STOP);
    }

    private String replayed(final long recordingId)
    {
        return received(archive.replay(recordingId, channel("replay"), REPLAY_STREAM_ID, empty()));
    }
}
