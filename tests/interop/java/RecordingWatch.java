import io.aeron.Aeron;
import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.RecordingEventsAdapter;
import io.aeron.archive.client.RecordingEventsListener;
import io.aeron.archive.status.RecordingPos;
import org.agrona.concurrent.status.CountersReader;

import java.util.ArrayList;
import java.util.List;

/** What an application that has not asked for a recording sees of it: its events and the counter of its position. */
final class RecordingWatch implements RecordingEventsListener, AutoCloseable
{
    private final Aeron aeron;
    private final long archiveId;
    private final long recordingId;
    private final Subscription subscription;
    private final RecordingEventsAdapter adapter;
    private final List<String> events = new ArrayList<>();
    private long progress;
    private boolean stopped;

    RecordingWatch(final Aeron aeron, final long archiveId, final long recordingId, final String eventsChannel)
    {
        this.aeron = aeron;
        this.archiveId = archiveId;
        this.recordingId = recordingId;
        subscription = aeron.addSubscription(eventsChannel, AeronArchive.Configuration.recordingEventsStreamId());
        adapter = new RecordingEventsAdapter(this, subscription, 10);
    }

    @Override
    public void close()
    {
        subscription.close();
    }

    boolean isConnected()
    {
        return subscription.isConnected();
    }

    /** Reads events, and returns whether the recording has stopped. */
    boolean hasStopped()
    {
        return 0 == adapter.poll() && stopped;
    }

    /** The start of the recording, its last progress and its stop. */
    String events()
    {
        return String.join(", ", events);
    }

    /** Whether the counter of the recording is also that of its session; its key, whether it is active, its value. */
    String counterOf(final int sessionId)
    {
        final CountersReader counters = aeron.countersReader();
        final int counterId = RecordingPos.findCounterIdByRecording(counters, recordingId, archiveId);
        return (RecordingPos.findCounterIdBySession(counters, sessionId, archiveId) == counterId) + " " +
            (RecordingPos.getRecordingId(counters, counterId) == recordingId) + " " +
            RecordingPos.getSourceIdentity(counters, counterId) + " " +
            RecordingPos.isActive(counters, counterId, recordingId) + " " +
            counters.getCounterValue(counterId);
    }

    @Override
    public void onStart(
        final long id, final long start, final int sessionId, final int streamId, final String channel, final String sourceIdentity)
    {
        if (recordingId == id)
        {
            events.add("start " + start + " " + streamId + " " + channel + " " + sourceIdentity);
        }
    }

    @Override
    public void onProgress(final long id, final long start, final long position)
    {
        progress = recordingId == id ? position : progress;
    }

    @Override
    public void onStop(final long id, final long start, final long stop)
    {
        if (recordingId == id)
        {
            events.add("progress " + progress);
            events.add("stop " + start + " " + stop);
            stopped = true;
        }
    }
}
