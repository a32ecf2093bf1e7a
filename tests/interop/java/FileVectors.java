import static org.agrona.concurrent.status.CountersReader.COUNTER_LENGTH;
import static org.agrona.concurrent.status.CountersReader.KEY_OFFSET;
import static org.agrona.concurrent.status.CountersReader.MAX_KEY_LENGTH;
import static org.agrona.concurrent.status.CountersReader.MAX_LABEL_LENGTH;
import static org.agrona.concurrent.status.CountersReader.METADATA_LENGTH;

import io.aeron.AeronCounters;
import io.aeron.CncFileDescriptor;
import io.aeron.cluster.RecordingLog;
import io.aeron.driver.reports.LossReport;
import io.aeron.driver.status.StreamCounter;
import io.aeron.driver.status.SystemCounterDescriptor;
import io.aeron.logbuffer.LogBufferDescriptor;
import io.aeron.protocol.DataHeaderFlyweight;
import io.aeron.status.ChannelEndpointStatus;
import io.aeron.status.HeartbeatTimestamp;
import io.aeron.status.LocalSocketAddressStatus;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.function.Consumer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.broadcast.BroadcastBufferDescriptor;
import org.agrona.concurrent.broadcast.BroadcastTransmitter;
import org.agrona.concurrent.errors.DistinctErrorLog;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RecordDescriptor;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;
import org.agrona.concurrent.status.AtomicCounter;
import org.agrona.concurrent.status.CountersManager;

/** What stands in files: cnc.dat, logs, the loss report and a cluster's recording log, as the official classes write it. */
final class FileVectors
{
    private static final int RECORDS = 4096;

    private FileVectors()
    {
    }

    static void print(final Vector.Mode mode) throws IOException
    {
        cncHeader(mode);
        ring(mode);
        broadcast(mode);
        counters(mode);
        keys(mode);
        errors(mode);
        losses(mode);
        log(mode);
        entries(mode);
    }

    private static UnsafeBuffer room(final int length)
    {
        return new UnsafeBuffer(ByteBuffer.allocateDirect(length));
    }

    private static void cncHeader(final Vector.Mode mode)
    {
        final Vector v = new Vector("CncHeader", mode);
        CncFileDescriptor.fillMetaData(v.buffer, v.int32("to_driver_buffer_length"), v.int32("to_clients_buffer_length"),
            v.int32("counters_metadata_buffer_length"), v.int32("counters_values_buffer_length"), v.int64("client_liveness_timeout_ns"),
            v.int32("error_log_buffer_length"), v.int64("start_timestamp_ms"), v.int64("pid"), v.int32("file_page_size"));
        CncFileDescriptor.signalCncReady(v.buffer);
        v.is("version", CncFileDescriptor.CNC_VERSION);
        v.print(CncFileDescriptor.END_OF_METADATA_OFFSET);
    }

    private static void ring(final Vector.Mode mode)
    {
        final Vector trailer = new Vector("RingTrailer", mode);
        trailer.buffer.putLong(RingBufferDescriptor.TAIL_POSITION_OFFSET, trailer.int64("tail_position"));
        trailer.buffer.putLong(RingBufferDescriptor.HEAD_CACHE_POSITION_OFFSET, trailer.int64("head_cache_position"));
        trailer.buffer.putLong(RingBufferDescriptor.HEAD_POSITION_OFFSET, trailer.int64("head_position"));
        trailer.buffer.putLong(RingBufferDescriptor.CORRELATION_COUNTER_OFFSET, trailer.int64("correlation_counter"));
        trailer.buffer.putLong(RingBufferDescriptor.CONSUMER_HEARTBEAT_OFFSET, trailer.int64("consumer_heartbeat"));
        trailer.print(RingBufferDescriptor.TRAILER_LENGTH);

        final Vector record = new Vector("RingRecord", mode);
        final UnsafeBuffer buffer = room(RECORDS + RingBufferDescriptor.TRAILER_LENGTH);
        final int type = record.is("type", 1 + Math.abs(record.mode.ordinal() * 0x1234567));
        final byte[] body = record.octets("body");
        new ManyToOneRingBuffer(buffer).write(type, new UnsafeBuffer(body), 0, body.length);
        record.copy(buffer, 0, record.is("length", RecordDescriptor.HEADER_LENGTH + body.length));
    }

    private static void broadcast(final Vector.Mode mode)
    {
        final UnsafeBuffer buffer = room(RECORDS + BroadcastBufferDescriptor.TRAILER_LENGTH);
        final Vector record = new Vector("BroadcastRecord", mode);
        final int type = record.is("type", 1 + Math.abs(record.mode.ordinal() * 0x1234567));
        final byte[] body = record.octets("body");
        final BroadcastTransmitter transmitter = new BroadcastTransmitter(buffer);
        transmitter.transmit(type, new UnsafeBuffer(body), 0, body.length);
        record.copy(buffer, 0, record.is("length", RecordDescriptor.HEADER_LENGTH + body.length));

        final Vector trailer = new Vector("BroadcastTrailer", mode);
        trailer.buffer.putLong(BroadcastBufferDescriptor.TAIL_INTENT_COUNTER_OFFSET, trailer.int64("tail_intent"));
        trailer.buffer.putLong(BroadcastBufferDescriptor.TAIL_COUNTER_OFFSET, trailer.int64("tail"));
        trailer.buffer.putLong(BroadcastBufferDescriptor.LATEST_COUNTER_OFFSET, trailer.int64("latest"));
        trailer.print(BroadcastBufferDescriptor.TRAILER_LENGTH);
    }

    private static CountersManager manager()
    {
        return new CountersManager(room(METADATA_LENGTH), room(COUNTER_LENGTH), StandardCharsets.US_ASCII);
    }

    private static void counters(final Vector.Mode mode)
    {
        final CountersManager manager = manager();
        final Vector metadata = new Vector("CounterMetadata", mode);
        final byte[] label = new byte[MAX_LABEL_LENGTH];
        final byte[] text = metadata.octets("");
        System.arraycopy(text, 0, label, 0, text.length);
        final byte[] key = new byte[MAX_KEY_LENGTH];
        System.arraycopy(text, 0, key, 0, text.length);
        final int id = manager.allocate(metadata.int32("type_id"), new UnsafeBuffer(key), 0, key.length,
            new UnsafeBuffer(label), 0, metadata.is("label_length", text.length));
        metadata.is("state", manager.getCounterState(id));
        metadata.is("free_for_reuse_deadline_ms", manager.getFreeForReuseDeadline(id));
        metadata.bytes("key", key);
        metadata.bytes("label", label);
        metadata.copy(manager.metaDataBuffer(), CountersManager.metaDataOffset(id), METADATA_LENGTH);

        final Vector value = new Vector("CounterValue", mode);
        manager.setCounterValue(id, value.int64("value"));
        manager.setCounterRegistrationId(id, value.int64("registration_id"));
        manager.setCounterOwnerId(id, value.int64("owner_id"));
        manager.setCounterReferenceId(id, value.int64("reference_id"));
        value.copy(manager.valuesBuffer(), CountersManager.counterOffset(id), COUNTER_LENGTH);
    }

    /** Print the key of a manager's only counter. */
    private static void key(final Vector v, final CountersManager manager, final int length)
    {
        v.copy(manager.metaDataBuffer(), KEY_OFFSET, length);
    }

    private static void keys(final Vector.Mode mode)
    {
        final UnsafeBuffer scratch = room(METADATA_LENGTH);
        Vector v = new Vector("StreamCounterKey", mode);
        CountersManager manager = manager();
        String channel = v.text("channel", "aeron:udp?endpoint=h:1");
        StreamCounter.allocateCounterId(scratch, "name", AeronCounters.DRIVER_PUBLISHER_LIMIT_TYPE_ID, manager, 0,
            v.int64("registration_id"), v.int32("session_id"), v.int32("stream_id"), channel, 0);
        key(v, manager, StreamCounter.CHANNEL_OFFSET + Integer.BYTES + channel.length());

        v = new Vector("ChannelStatusKey", mode);
        manager = manager();
        channel = v.text("channel", "aeron:udp?endpoint=localhost:1");
        ChannelEndpointStatus.allocate(scratch, "name", AeronCounters.DRIVER_SEND_CHANNEL_STATUS_TYPE_ID, manager, 0, channel);
        key(v, manager, Integer.BYTES + channel.length());

        v = new Vector("LocalSockaddrKey", mode);
        manager = manager();
        final String address = v.text("local_sockaddr", "127.0.0.1:20121");
        final AtomicCounter bound = LocalSocketAddressStatus.allocate(scratch, manager, 0, v.int32("channel_status_id"), "name",
            LocalSocketAddressStatus.LOCAL_SOCKET_ADDRESS_STATUS_TYPE_ID);
        LocalSocketAddressStatus.updateBindAddress(bound, address, (UnsafeBuffer)manager.metaDataBuffer());
        key(v, manager, LocalSocketAddressStatus.INITIAL_LENGTH + address.length());

        v = new Vector("ClientHeartbeatKey", mode);
        manager = manager();
        HeartbeatTimestamp.allocate(scratch, "name", HeartbeatTimestamp.HEARTBEAT_TYPE_ID, manager, v.int64("client_id"));
        key(v, manager, Long.BYTES);

        v = new Vector("SystemCounterKey", mode);
        manager = manager();
        final SystemCounterDescriptor[] all = SystemCounterDescriptor.values();
        final SystemCounterDescriptor counter = all[mode.ordinal() * (all.length - 1) / Vector.Mode.values().length];
        counter.newCounter(manager);
        v.is("system_counter_id", counter.id());
        key(v, manager, Integer.BYTES);
    }

    /** An error that is in the log what it is told to be. */
    private static final class Observed extends Exception
    {
        private static final long serialVersionUID = 1;
        private final String text;

        Observed(final String text)
        {
            super(text);
            this.text = text;
        }

        @Override
        public void printStackTrace(final PrintWriter writer)
        {
            writer.print(text);
        }
    }

    private static void errors(final Vector.Mode mode)
    {
        final Vector v = new Vector("ErrorRecord", mode);
        final long first = v.int64("first_observation_timestamp_ms");
        final long last = v.int64("last_observation_timestamp_ms");
        final Observed error = new Observed(v.text("encoded_error", "no room"));
        final UnsafeBuffer buffer = room(RECORDS);
        final long[] now = {first};
        final DistinctErrorLog log = new DistinctErrorLog(buffer, () -> now[0]);
        final int times = v.is("observation_count", 1 + mode.ordinal());
        log.record(error);
        now[0] = last;
        for (int i = 1; i < times; i++)
        {
            log.record(error);
        }
        if (1 == times)
        {
            buffer.putLong(DistinctErrorLog.LAST_OBSERVATION_TIMESTAMP_OFFSET, last);
        }
        v.copy(buffer, 0, v.is("length", buffer.getInt(DistinctErrorLog.LENGTH_OFFSET)));
    }

    private static void losses(final Vector.Mode mode)
    {
        final Vector v = new Vector("LossRecord", mode);
        final UnsafeBuffer buffer = room(RECORDS);
        final long bytes = v.int64("total_bytes_lost");
        final String channel = v.text("channel", "aeron:udp?endpoint=h:1");
        final String source = v.text("source", "127.0.0.1:50000");
        final LossReport.ReportEntry entry = new LossReport(buffer).createEntry(bytes - 1, v.int64("first_observation_timestamp_ms"),
            v.int32("session_id"), v.int32("stream_id"), channel, source);
        entry.recordObservation(1, v.int64("last_observation_timestamp_ms"));
        v.is("observation_count", buffer.getLong(LossReport.OBSERVATION_COUNT_OFFSET));
        final int sourceAt = LossReport.CHANNEL_OFFSET + Integer.BYTES + ((channel.length() + 3) & ~3);
        v.copy(buffer, 0, sourceAt + Integer.BYTES + source.length());
    }

    private static void log(final Vector.Mode mode)
    {
        final Vector v = new Vector("LogMetadata", mode);
        final UnsafeBuffer log = v.buffer;
        final long[] tails = {v.int64(""), v.int64(""), v.int64("")};
        for (int i = 0; i < LogBufferDescriptor.PARTITION_COUNT; i++)
        {
            LogBufferDescriptor.rawTail(log, i, tails[i]);
        }
        v.list("tail_counters", tails);
        LogBufferDescriptor.activeTermCount(log, v.int32("active_term_count"));
        LogBufferDescriptor.endOfStreamPosition(log, v.int64("end_of_stream_position"));
        LogBufferDescriptor.isConnected(log, v.flag("is_connected"));
        LogBufferDescriptor.activeTransportCount(log, v.int32("active_transport_count"));
        LogBufferDescriptor.correlationId(log, v.int64("correlation_id"));
        LogBufferDescriptor.initialTermId(log, v.int32("initial_term_id"));
        LogBufferDescriptor.mtuLength(log, v.int32("mtu"));
        LogBufferDescriptor.termLength(log, v.int32("term_length"));
        LogBufferDescriptor.pageSize(log, v.int32("page_size"));
        LogBufferDescriptor.publicationWindowLength(log, v.int32("publication_window_length"));
        LogBufferDescriptor.receiverWindowLength(log, v.int32("receiver_window_length"));
        LogBufferDescriptor.socketSndbufLength(log, v.int32("socket_sndbuf_length"));
        LogBufferDescriptor.osDefaultSocketSndbufLength(log, v.int32("os_default_socket_sndbuf_length"));
        LogBufferDescriptor.osMaxSocketSndbufLength(log, v.int32("os_max_socket_sndbuf_length"));
        LogBufferDescriptor.socketRcvbufLength(log, v.int32("socket_rcvbuf_length"));
        LogBufferDescriptor.osDefaultSocketRcvbufLength(log, v.int32("os_default_socket_rcvbuf_length"));
        LogBufferDescriptor.osMaxSocketRcvbufLength(log, v.int32("os_max_socket_rcvbuf_length"));
        LogBufferDescriptor.maxResend(log, v.int32("max_resend"));
        LogBufferDescriptor.entityTag(log, v.int64("entity_tag"));
        LogBufferDescriptor.responseCorrelationId(log, v.int64("response_correlation_id"));
        LogBufferDescriptor.lingerTimeoutNs(log, v.int64("linger_timeout_ns"));
        LogBufferDescriptor.untetheredWindowLimitTimeoutNs(log, v.int64("untethered_window_limit_timeout_ns"));
        LogBufferDescriptor.untetheredRestingTimeoutNs(log, v.int64("untethered_resting_timeout_ns"));
        LogBufferDescriptor.untetheredLingerTimeoutNs(log, v.int64("untethered_linger_timeout_ns"));
        LogBufferDescriptor.group(log, v.flag("group"));
        LogBufferDescriptor.isResponse(log, v.flag("is_response"));
        LogBufferDescriptor.rejoin(log, v.flag("rejoin"));
        LogBufferDescriptor.reliable(log, v.flag("reliable"));
        LogBufferDescriptor.sparse(log, v.flag("sparse"));
        LogBufferDescriptor.signalEos(log, v.flag("signal_eos"));
        LogBufferDescriptor.spiesSimulateConnection(log, v.flag("spies_simulate_connection"));
        LogBufferDescriptor.tether(log, v.flag("tether"));
        LogBufferDescriptor.isPublicationRevoked(log, v.flag("is_publication_revoked"));
        LogBufferDescriptor.type(log, (byte)v.is("type", mode.ordinal() % (LogBufferDescriptor.LOG_BUFFER_TYPE_PUBLICATION_IMAGE + 1)));
        final byte[] header = new byte[DataHeaderFlyweight.HEADER_LENGTH];
        for (int i = 0; i < header.length; i++)
        {
            header[i] = (byte)(i * mode.ordinal());
        }
        LogBufferDescriptor.storeDefaultFrameHeader(log, new UnsafeBuffer(header));
        v.is("default_header_length", header.length);
        v.bytes("default_header", Arrays.copyOf(header, LogBufferDescriptor.LOG_DEFAULT_FRAME_HEADER_MAX_LENGTH));
        v.print(LogBufferDescriptor.LOG_META_DATA_LENGTH);
    }

    /** The recording log takes no term or snapshot out of turn: three entries, each appended to a log of its own. */
    private static void entries(final Vector.Mode mode) throws IOException
    {
        final Vector term = entry("TermEntry", mode, RecordingLog.ENTRY_TYPE_TERM);
        appended(term, log -> log.appendTerm(term.positive("recording_id"), term.is("leadership_term_id", 0L),
            term.positive("term_base_log_position"), term.int64("timestamp")), RecordingLog.ENDPOINT_OFFSET);
        final Vector snapshot = entry("SnapshotEntry", mode, RecordingLog.ENTRY_TYPE_SNAPSHOT);
        appended(snapshot, log -> log.appendSnapshot(snapshot.positive("recording_id"), snapshot.positive("leadership_term_id"),
            snapshot.positive("term_base_log_position"), snapshot.positive("log_position"), snapshot.int64("timestamp"),
            snapshot.int32("service_id")), RecordingLog.ENDPOINT_OFFSET);
        if (Vector.Mode.ZEROS == mode)
        {
            return;  // an endpoint must not be empty
        }
        final Vector standby = entry("StandbySnapshotEntry", mode, RecordingLog.ENTRY_TYPE_STANDBY_SNAPSHOT);
        final String endpoint = standby.text("archive_endpoint", "standby.example.com:8010");
        appended(standby, log -> log.appendStandbySnapshot(standby.positive("recording_id"), standby.positive("leadership_term_id"),
            standby.positive("term_base_log_position"), standby.positive("log_position"), standby.int64("timestamp"),
            standby.int32("service_id"), endpoint), RecordingLog.ENDPOINT_OFFSET + Integer.BYTES + endpoint.length());
    }

    private static Vector entry(final String struct, final Vector.Mode mode, final int type)
    {
        final Vector v = new Vector(struct, mode);
        v.is("entry_type", type);
        if (RecordingLog.ENTRY_TYPE_TERM == type)
        {
            v.is("log_position", -1L);
            v.is("service_id", -1);
        }
        return v;
    }

    private static void appended(final Vector v, final Consumer<RecordingLog> append, final int length) throws IOException
    {
        final File directory = Files.createTempDirectory("recording-log").toFile();
        try (RecordingLog log = new RecordingLog(directory, true))
        {
            append.accept(log);
        }
        final File file = new File(directory, RecordingLog.RECORDING_LOG_FILE_NAME);
        v.copy(new UnsafeBuffer(Files.readAllBytes(file.toPath())), 0, length);
        Files.delete(file.toPath());
        Files.delete(directory.toPath());
    }
}
