import io.aeron.protocol.DataHeaderFlyweight;
import io.aeron.protocol.ErrorFlyweight;
import io.aeron.protocol.HeaderFlyweight;
import io.aeron.protocol.NakFlyweight;
import io.aeron.protocol.ResolutionEntryFlyweight;
import io.aeron.protocol.ResponseSetupFlyweight;
import io.aeron.protocol.RttMeasurementFlyweight;
import io.aeron.protocol.SetupFlyweight;
import io.aeron.protocol.StatusMessageFlyweight;
import java.util.Arrays;

/** The frames of the transport protocol, as the official flyweights write them. */
final class FrameVectors
{
    private FrameVectors()
    {
    }

    static void print(final Vector.Mode mode)
    {
        fixed(mode);
        data(mode);
        statusMessage(mode, true);
        statusMessage(mode, false);
        error(mode);
        final byte[] types = {ResolutionEntryFlyweight.RES_TYPE_NAME_TO_IP4_MD, ResolutionEntryFlyweight.RES_TYPE_NAME_TO_IP6_MD};
        for (final byte type : types)
        {
            final Vector v = new Vector("ResolutionEntry", mode);
            v.print(entry(v, type));
        }
        for (int count = 0; count <= types.length; count++)
        {
            resolution(mode, Arrays.copyOf(types, count));
        }
    }

    private static <T extends HeaderFlyweight> T header(final Vector v, final T frame, final int type, final int length)
    {
        frame.wrap(v.buffer, 0, length);
        frame.version(v.int8("version")).flags(v.uint8("flags")).headerType(v.is("type", type));
        frame.frameLength(v.is("frame_length", length));
        return frame;
    }

    private static void fixed(final Vector.Mode mode)
    {
        Vector v = new Vector("FrameHeader", mode);
        header(v, new HeaderFlyweight(), HeaderFlyweight.HDR_TYPE_DATA, HeaderFlyweight.MIN_HEADER_LENGTH);
        v.print(HeaderFlyweight.MIN_HEADER_LENGTH);

        v = new Vector("Nak", mode);
        header(v, new NakFlyweight(), HeaderFlyweight.HDR_TYPE_NAK, NakFlyweight.HEADER_LENGTH)
            .sessionId(v.int32("session_id")).streamId(v.int32("stream_id")).termId(v.int32("term_id"))
            .termOffset(v.int32("term_offset")).length(v.int32("length"));
        v.print(NakFlyweight.HEADER_LENGTH);

        v = new Vector("Setup", mode);
        header(v, new SetupFlyweight(), HeaderFlyweight.HDR_TYPE_SETUP, SetupFlyweight.HEADER_LENGTH)
            .termOffset(v.int32("term_offset")).sessionId(v.int32("session_id")).streamId(v.int32("stream_id"))
            .initialTermId(v.int32("initial_term_id")).activeTermId(v.int32("active_term_id"))
            .termLength(v.int32("term_length")).mtuLength(v.int32("mtu")).ttl(v.int32("ttl"));
        v.print(SetupFlyweight.HEADER_LENGTH);

        v = new Vector("Rttm", mode);
        header(v, new RttMeasurementFlyweight(), HeaderFlyweight.HDR_TYPE_RTTM, RttMeasurementFlyweight.HEADER_LENGTH)
            .sessionId(v.int32("session_id")).streamId(v.int32("stream_id")).echoTimestampNs(v.int64("echo_timestamp_ns"))
            .receptionDelta(v.int64("reception_delta_ns")).receiverId(v.int64("receiver_id"));
        v.print(RttMeasurementFlyweight.HEADER_LENGTH);

        v = new Vector("ResponseSetup", mode);
        header(v, new ResponseSetupFlyweight(), HeaderFlyweight.HDR_TYPE_RSP_SETUP, ResponseSetupFlyweight.HEADER_LENGTH)
            .sessionId(v.int32("session_id")).streamId(v.int32("stream_id")).responseSessionId(v.int32("response_session_id"));
        v.print(ResponseSetupFlyweight.HEADER_LENGTH);
    }

    private static void data(final Vector.Mode mode)
    {
        final Vector v = new Vector("DataHeader", mode);
        final byte[] payload = v.octets("payload");
        final int length = DataHeaderFlyweight.HEADER_LENGTH + payload.length;
        header(v, new DataHeaderFlyweight(), HeaderFlyweight.HDR_TYPE_DATA, length)
            .termOffset(v.int32("term_offset")).sessionId(v.int32("session_id")).streamId(v.int32("stream_id"))
            .termId(v.int32("term_id")).reservedValue(v.int64("reserved_value"));
        v.buffer.putBytes(DataHeaderFlyweight.HEADER_LENGTH, payload);
        v.print(length);
    }

    private static void statusMessage(final Vector.Mode mode, final boolean isTagged)
    {
        final Vector v = new Vector("StatusMessage", mode);
        final int length = StatusMessageFlyweight.HEADER_LENGTH + (isTagged ? Long.BYTES : 0);
        final StatusMessageFlyweight frame = header(v, new StatusMessageFlyweight(), HeaderFlyweight.HDR_TYPE_SM, length)
            .sessionId(v.int32("session_id")).streamId(v.int32("stream_id"))
            .consumptionTermId(v.int32("consumption_term_id")).consumptionTermOffset(v.int32("consumption_term_offset"))
            .receiverWindowLength(v.int32("receiver_window")).receiverId(v.int64("receiver_id"));
        frame.groupTag(isTagged ? (Long)v.int64("group_tag") : null);
        v.print(frame.frameLength());
    }

    private static void error(final Vector.Mode mode)
    {
        final Vector v = new Vector("ErrorFrame", mode);
        final ErrorFlyweight frame = new ErrorFlyweight();
        frame.wrap(v.buffer, 0, ErrorFlyweight.MAX_ERROR_FRAME_LENGTH);
        frame.version(v.int8("version")).headerType(v.is("type", HeaderFlyweight.HDR_TYPE_ERR));
        frame.sessionId(v.int32("session_id")).streamId(v.int32("stream_id")).receiverId(v.int64("receiver_id"))
            .groupTag(v.int64("group_tag")).errorCode(v.int32("error_code")).errorMessage(v.text("error_text", "no room"));
        v.is("flags", frame.flags());
        v.print(v.is("frame_length", frame.frameLength()));
    }

    /** Write an entry, and return how long it is. */
    private static int entry(final Vector v, final byte type)
    {
        final ResolutionEntryFlyweight entry = new ResolutionEntryFlyweight();
        entry.wrap(v.buffer, 0, v.buffer.capacity());
        final byte[] address = new byte[ResolutionEntryFlyweight.addressLength(type)];
        for (int i = 0; i < address.length; i++)
        {
            address[i] = (byte)(0xF0 + i);
        }
        entry.resType((byte)v.is("res_type", type)).flags(v.uint8("res_flags")).udpPort(v.uint16("udp_port"))
            .ageInMs(v.int32("age_ms")).putAddress(v.bytes("address", address)).putName(v.name("name", "driver-a"));
        return entry.entryLength();
    }

    private static void resolution(final Vector.Mode mode, final byte[] types)
    {
        final Vector v = new Vector("Resolution", mode);
        final Vector[] entries = new Vector[types.length];
        int length = HeaderFlyweight.MIN_HEADER_LENGTH;
        for (int i = 0; i < types.length; i++)
        {
            entries[i] = new Vector("ResolutionEntry", mode);
            final int entryLength = entry(entries[i], types[i]);
            v.buffer.putBytes(length, entries[i].buffer, 0, entryLength);
            length += entryLength;
        }
        header(v, new HeaderFlyweight(), HeaderFlyweight.HDR_TYPE_RES, length);
        v.list("entries", entries);
        v.print(length);
    }
}
