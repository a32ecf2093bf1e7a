import io.aeron.ChannelUriStringBuilder;
import io.aeron.Counter;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ReplayParams;
import io.aeron.archive.client.ReplicationParams;
import io.aeron.archive.codecs.SourceLocation;

/**
 * Every operation of an archive by the official client, each with its result or its error code as a line of JSON: what
 * tests/interop/archive/operations.py does with ours, in the same order and by the same names.
 */
final class ArchiveOperations extends ArchiveWork
{
    private static final int STREAM_ID = 1001;
    private static final int LENGTH = 100;
    private static final int FRAME = 160;
    private static final int SEGMENT = 64 * 1024;
    private static final String CHANNEL = "aeron:ipc?term-length=64k|alias=a";
    private static final String OTHER = "aeron:ipc?term-length=64k|alias=b";
    private static final int REPLAY_STREAM_ID = 2001;

    private ArchiveOperations(final Arguments options)
    {
        super(options, options.text("requests"), LENGTH);
    }

    public static void main(final String[] arguments) throws Exception
    {
        try (ArchiveOperations operations = new ArchiveOperations(new Arguments(arguments)))
        {
            operations.run();
        }
        System.out.println("{\"role\": \"operations\"}");
    }

    private void run() throws Exception
    {
        empty();
        record();
        replay();
        truncateAndExtend();
        segments();
        replicate();
        purge();
    }

    private void empty()
    {
        say("archive id", archive::archiveId);
        say("list nothing", () -> archive.listRecordings(0, 10, this::ignore));
        say("list unknown", () -> archive.listRecording(99, this::ignore));
        say("list subscriptions of nothing", () -> archive.listRecordingSubscriptions(0, 10, "", 0, false, (a, b, c, d, e) -> {}));
        for (final long unknown : new long[]{ 0, 99 })
        {
            say("start position of unknown " + unknown, () -> archive.getStartPosition(unknown));
            say("recording position of unknown " + unknown, () -> archive.getRecordingPosition(unknown));
            say("stop position of unknown " + unknown, () -> archive.getStopPosition(unknown));
            say("max recorded position of unknown " + unknown, () -> archive.getMaxRecordedPosition(unknown));
        }
        say("find in nothing", () -> archive.findLastMatchingRecording(0, "ipc", STREAM_ID, 5));
        say("replay unknown", () -> archive.startReplay(99, 0, 100, "aeron:ipc", REPLAY_STREAM_ID));
        say("stop unknown by identity", () -> archive.tryStopRecordingByIdentity(99));
        say("stop unknown subscription", () -> stop(987654));
        say("try to stop unknown subscription", () -> archive.tryStopRecording(987654));
        say("stop unknown channel", () ->
        {
            archive.stopRecording("aeron:udp?endpoint=localhost:9", 5);
            return "done";
        });
        say("try to stop unknown channel", () -> archive.tryStopRecording("aeron:udp?endpoint=localhost:9", 5));
        say("start on a channel that is none", () -> archive.startRecording("nonsense", 5, SourceLocation.LOCAL) >= 0);
    }

    private void record()
    {
        try (ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, STREAM_ID))
        {
            final long subscriptionId = archive.startRecording(CHANNEL, STREAM_ID, SourceLocation.LOCAL);
            publish(publication, 20);
            recorded(0, publication.position());
            say("start again", () -> archive.startRecording(CHANNEL, STREAM_ID, SourceLocation.LOCAL));
            say("list subscriptions", () -> archive.listRecordingSubscriptions(0, 10, "ipc", STREAM_ID, true, (a, b, c, d, e) -> {}));
            say("list subscriptions of another stream", () ->
                archive.listRecordingSubscriptions(0, 10, "ipc", STREAM_ID + 1, true, (a, b, c, d, e) -> {}));
            say("positions of active", () -> positions(0));
            say("truncate active", () -> archive.truncateRecording(0, FRAME));
            say("purge active", () -> archive.purgeRecording(0));
            say("extend active", () -> archive.extendRecording(0, CHANNEL, STREAM_ID, SourceLocation.LOCAL));
            say("stop", () -> stop(subscriptionId));
            say("positions of stopped", () -> positions(0));
            say("find last", () -> archive.findLastMatchingRecording(0, "ipc", STREAM_ID, publication.sessionId()));
            say("find last of another session", () -> archive.findLastMatchingRecording(0, "ipc", STREAM_ID, publication.sessionId() + 1));
            say("list", () -> archive.listRecordings(0, 10, this::ignore));
            say("list for uri", () -> archive.listRecordingsForUri(0, 10, "ipc", STREAM_ID, this::ignore));
            say("list for another uri", () -> archive.listRecordingsForUri(0, 10, "udp", STREAM_ID, this::ignore));
            describe(0);
        }
    }

    private void replay()
    {
        say("replay all", () -> replayed(new ReplayParams().position(0).length(20L * FRAME)));
        say("replay all and stop", () -> replayed(new ReplayParams().length(AeronArchive.REPLAY_ALL_AND_STOP)));
        say("replay the middle", () -> replayed(new ReplayParams().position(5L * FRAME).length(4L * FRAME)));
        try (Counter limit = aeron.addCounter(1101, "limit of a replay"))
        {
            limit.setRelease(15L * FRAME);
            say("replay bounded", () -> replayed(
                new ReplayParams().position(0).length(15L * FRAME).boundingLimitCounterId(limit.id())));
        }
        say("replay from within a frame", () -> archive.startReplay(0, 17, 100, "aeron:ipc", REPLAY_STREAM_ID));
        say("replay from an aligned place without a frame", () -> archive.startReplay(0, 32, 100, "aeron:ipc", REPLAY_STREAM_ID));
        say("replay beyond the end", () -> archive.startReplay(0, 21L * FRAME, 100, "aeron:ipc", REPLAY_STREAM_ID));
        say("replay with a short read", () -> archive.startReplay(
            0, "aeron:ipc", REPLAY_STREAM_ID, new ReplayParams().position(0).fileIoMaxLength(64)));
        say("replay bounded by no counter", () -> archive.startReplay(
            0, "aeron:ipc", REPLAY_STREAM_ID, new ReplayParams().position(0).boundingLimitCounterId(99999)) >= 0);
        say("stop unknown replay", () ->
        {
            archive.stopReplay(987654);
            return "done";
        });
        say("start and stop a replay", () ->
        {
            archive.stopReplay(archive.startReplay(0, 0, 20L * FRAME, "aeron:ipc", REPLAY_STREAM_ID));
            return "done";
        });
        say("stop all replays", () ->
        {
            archive.stopAllReplays(0);
            archive.stopAllReplays(-1);
            return "done";
        });
        if (!options.text("response", "").isEmpty())
        {
            say("replay by a response channel", () -> received(archive.replay(
                0, options.text("response"), REPLAY_STREAM_ID, new ReplayParams().position(0).length(20L * FRAME))));
        }
    }

    private void truncateAndExtend()
    {
        say("truncate to no position", () -> archive.truncateRecording(0, 3));
        say("truncate beyond the end", () -> archive.truncateRecording(0, 1L << 30));
        say("truncate unknown", () -> archive.truncateRecording(99, 0));
        say("truncate", () -> archive.truncateRecording(0, 10L * FRAME));
        say("positions of truncated", () -> positions(0));
        say("extend unknown", () -> archive.extendRecording(99, CHANNEL, STREAM_ID, SourceLocation.LOCAL));
        say("extend another stream", () -> archive.extendRecording(0, CHANNEL, STREAM_ID + 1, SourceLocation.LOCAL));
        final int[] initialTermId = new int[1];
        archive.listRecording(0, (a, b, id, d, e, f, g, initial, i, j, k, l, m, n, o, p) -> initialTermId[0] = initial);
        final String extended = new ChannelUriStringBuilder(CHANNEL)
            .initialPosition(10L * FRAME, initialTermId[0], SEGMENT).build();
        try (ExclusivePublication publication = aeron.addExclusivePublication(extended, STREAM_ID))
        {
            archive.extendRecording(0, CHANNEL, STREAM_ID, SourceLocation.LOCAL);
            publish(publication, 7);
            recorded(0, publication.position());
            say("stop by channel", () ->
            {
                archive.stopRecording(CHANNEL, STREAM_ID);
                return "done";
            });
        }
        say("positions of extended", () -> positions(0));
        say("replay extended", () -> replayed(new ReplayParams().length(AeronArchive.REPLAY_ALL_AND_STOP)));
        say("update channel", () ->
        {
            archive.updateChannel(0, "aeron:ipc?alias=updated");
            return "done";
        });
        say("update channel of unknown", () ->
        {
            archive.updateChannel(99, "aeron:ipc");
            return "done";
        });
        describe(0);
    }

    private void segments()
    {
        try (ExclusivePublication publication = archive.addRecordedExclusivePublication(OTHER, STREAM_ID))
        {
            publish(publication, 2000);
            recorded(1, publication.position());
            archive.stopRecording(publication);
        }
        say("positions of the second", () -> positions(1));
        say("detach to no segment", () -> detach(1, 100));
        say("detach", () -> detach(1, 2L * SEGMENT));
        say("attach", () -> archive.attachSegments(1));
        say("attach what is not there", () -> archive.attachSegments(1));
        say("detach again", () -> detach(1, 2L * SEGMENT));
        say("delete detached", () -> archive.deleteDetachedSegments(1));
        say("purge segments to no segment", () -> archive.purgeSegments(1, 100));
        say("purge segments", () -> archive.purgeSegments(1, 3L * SEGMENT));
        say("purge segments of unknown", () -> archive.purgeSegments(99, 0));
        say("positions of purged", () -> positions(1));
        say("replay purged", () -> archive.startReplay(1, 0, 100, "aeron:ipc", REPLAY_STREAM_ID));
        say("migrate what does not join", () -> archive.migrateSegments(0, 1));
    }

    private void replicate()
    {
        say("stop unknown replication", () ->
        {
            archive.stopReplication(55);
            return "done";
        });
        say("try to stop unknown replication", () -> archive.tryStopReplication(55));
        say("replicate to unknown", () -> archive.replicate(0, 10, options.text("source"), new ReplicationParams().dstRecordingId(99)));
        signals.clear();
        say("replicate", () -> archive.replicate(0, 10, options.text("source"), new ReplicationParams()) >= 0);
        until("REPLICATE_END 2 -1 and STOP", () ->
            signals.stream().anyMatch((text) -> text.startsWith("REPLICATE_END")) &&
            signals.stream().anyMatch((text) -> text.startsWith("STOP")));
        say("signals of a replication", () ->
        {
            signals.sort(null);
            return String.join(", ", signals);
        });
        say("positions of the copy", () -> positions(2));
        signals.clear();
        say("replicate unknown", () -> archive.replicate(4321, 10, options.text("source"), new ReplicationParams()) >= 0);
        final String[] error = new String[1];
        idle.reset();
        while (null == (error[0] = archive.pollForErrorResponse()))
        {
            checkTime("the error of a replication");
            idle.idle();
        }
        say("error of a replication", () -> error[0]);
    }

    private void purge()
    {
        say("purge unknown", () -> archive.purgeRecording(77));
        say("purge", () -> archive.purgeRecording(2));
        say("list purged", () -> archive.listRecording(2, this::ignore));
        say("list at last", () -> archive.listRecordings(0, 10, this::ignore));
        signals.clear();
        try (ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, STREAM_ID))
        {
            archive.startRecording(CHANNEL, STREAM_ID, SourceLocation.LOCAL, true);
            publish(publication, 1);
            recorded(3, publication.position());
        }
        until("the end of an automatic recording", () -> signals.contains("STOP 3 " + FRAME));
        say("signals of an automatic recording", () -> String.join(", ", signals));
        say("subscriptions after it", () -> archive.listRecordingSubscriptions(0, 10, "", 0, false, (a, b, c, d, e) -> {}));
    }

    private String stop(final long subscriptionId)
    {
        archive.stopRecording(subscriptionId);
        return "done";
    }

    private String detach(final long recordingId, final long position)
    {
        archive.detachSegments(recordingId, position);
        return "done";
    }

    private void describe(final long recordingId)
    {
        archive.listRecording(recordingId, (a, b, id, startTime, stopTime, start, stop, initial, segment, term, mtu, session,
            stream, stripped, original, source) -> say("descriptor of " + recordingId, () ->
                id + " " + start + " " + stop + " " + segment + " " + term + " " + mtu + " " + stream + " " +
                stripped + " " + original + " " + source));
    }

    private String replayed(final ReplayParams params)
    {
        return received(archive.replay(0, "aeron:ipc?term-length=64k", REPLAY_STREAM_ID, params));
    }
}
