import io.aeron.ErrorCode;
import io.aeron.command.ClientTimeoutFlyweight;
import io.aeron.command.CorrelatedMessageFlyweight;
import io.aeron.command.CounterMessageFlyweight;
import io.aeron.command.CounterUpdateFlyweight;
import io.aeron.command.DestinationByIdMessageFlyweight;
import io.aeron.command.DestinationMessageFlyweight;
import io.aeron.command.ErrorResponseFlyweight;
import io.aeron.command.GetNextAvailableSessionIdMessageFlyweight;
import io.aeron.command.ImageBuffersReadyFlyweight;
import io.aeron.command.ImageMessageFlyweight;
import io.aeron.command.NextAvailableSessionIdFlyweight;
import io.aeron.command.OperationSucceededFlyweight;
import io.aeron.command.PublicationBuffersReadyFlyweight;
import io.aeron.command.PublicationErrorFrameFlyweight;
import io.aeron.command.PublicationMessageFlyweight;
import io.aeron.command.RejectImageFlyweight;
import io.aeron.command.RemoveCounterFlyweight;
import io.aeron.command.RemoveMessageFlyweight;
import io.aeron.command.RemovePublicationFlyweight;
import io.aeron.command.RemoveSubscriptionFlyweight;
import io.aeron.command.StaticCounterFlyweight;
import io.aeron.command.StaticCounterMessageFlyweight;
import io.aeron.command.SubscriptionMessageFlyweight;
import io.aeron.command.SubscriptionReadyFlyweight;
import io.aeron.command.TerminateDriverFlyweight;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;

/** The commands to a driver and its responses, as the official flyweights write them. */
final class CommandVectors
{
    private static final String CHANNEL = "aeron:udp?endpoint=127.0.0.1:40123";
    private static final String LOG_FILE = "/dev/shm/aeron/7.logbuffer";

    private CommandVectors()
    {
    }

    static void print(final Vector.Mode mode)
    {
        commands(mode);
        counters(mode);
        responses(mode);
        readiness(mode);
        publicationError(mode, 1, 4);
        publicationError(mode, 2, 16);
    }

    private static <T extends CorrelatedMessageFlyweight> T command(final Vector v, final T command)
    {
        command.wrap(v.buffer, 0);
        command.clientId(v.int64("client_id")).correlationId(v.int64("correlation_id"));
        return command;
    }

    private static void commands(final Vector.Mode mode)
    {
        for (final String struct : new String[] {"CorrelatedCommand", "ClientKeepalive", "ClientClose"})
        {
            final Vector v = new Vector(struct, mode);
            command(v, new CorrelatedMessageFlyweight());
            v.print(CorrelatedMessageFlyweight.LENGTH);
        }
        for (final String struct : new String[] {
            "DestinationCommand", "AddDestination", "RemoveDestination", "AddRcvDestination", "RemoveRcvDestination"})
        {
            final Vector v = new Vector(struct, mode);
            v.print(command(v, new DestinationMessageFlyweight()).registrationCorrelationId(v.int64("registration_id"))
                .channel(v.text("channel", CHANNEL)).length());
        }
        remove("RemoveSubscription", mode, new RemoveSubscriptionFlyweight());
        remove("RemoveCounter", mode, new RemoveCounterFlyweight());

        Vector v = new Vector("AddPublication", mode);
        v.print(command(v, new PublicationMessageFlyweight()).streamId(v.int32("stream_id"))
            .channel(v.text("channel", CHANNEL)).length());

        v = new Vector("RemovePublication", mode);
        final boolean isRevoked = 0 != v.is("flags", mode.ordinal() % 2);
        final RemovePublicationFlyweight removal = command(v, new RemovePublicationFlyweight());
        removal.registrationId(v.int64("registration_id"));
        removal.revoke(isRevoked);
        v.print(RemovePublicationFlyweight.length());

        v = new Vector("AddSubscription", mode);
        v.print(command(v, new SubscriptionMessageFlyweight())
            .registrationCorrelationId(v.int64("registration_correlation_id")).streamId(v.int32("stream_id"))
            .channel(v.text("channel", CHANNEL)).length());

        v = new Vector("TerminateDriver", mode);
        final byte[] token = v.octets("token");
        v.print(command(v, new TerminateDriverFlyweight()).tokenBuffer(new UnsafeBuffer(token), 0, token.length).length());

        v = new Vector("RejectImage", mode);
        final String reason = v.text("reason", "not wanted");
        command(v, new RejectImageFlyweight()).imageCorrelationId(v.int64("image_correlation_id"))
            .position(v.int64("position")).reason(reason);
        v.print(RejectImageFlyweight.computeLength(reason));

        v = new Vector("RemoveDestinationById", mode);
        command(v, new DestinationByIdMessageFlyweight()).resourceRegistrationId(v.int64("resource_registration_id"))
            .destinationRegistrationId(v.int64("destination_registration_id"));
        v.print(DestinationByIdMessageFlyweight.MESSAGE_LENGTH);

        v = new Vector("GetNextAvailableSessionId", mode);
        command(v, new GetNextAvailableSessionIdMessageFlyweight()).streamId(v.int32("stream_id"));
        v.print(GetNextAvailableSessionIdMessageFlyweight.LENGTH);
    }

    private static void remove(final String struct, final Vector.Mode mode, final RemoveMessageFlyweight flyweight)
    {
        final Vector v = new Vector(struct, mode);
        command(v, flyweight).registrationId(v.int64("registration_id"));
        v.print(RemoveMessageFlyweight.length());
    }

    private static void counters(final Vector.Mode mode)
    {
        Vector v = new Vector("AddCounter", mode);
        byte[] key = v.octets("key");
        v.print(command(v, new CounterMessageFlyweight()).typeId(v.int32("type_id"))
            .keyBuffer(new UnsafeBuffer(key), 0, key.length).label(v.text("label", "my counter")).length());

        v = new Vector("AddStaticCounter", mode);
        key = v.octets("key");
        v.print(command(v, new StaticCounterMessageFlyweight()).registrationId(v.int64("registration_id"))
            .typeId(v.int32("type_id")).keyBuffer(new UnsafeBuffer(key), 0, key.length)
            .label(v.text("label", "my counter")).length());

        v = new Vector("CounterUpdate", mode);
        new CounterUpdateFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id")).counterId(v.int32("counter_id"));
        v.print(CounterUpdateFlyweight.LENGTH);

        v = new Vector("StaticCounter", mode);
        new StaticCounterFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id")).counterId(v.int32("counter_id"));
        v.print(StaticCounterFlyweight.LENGTH);
    }

    private static void responses(final Vector.Mode mode)
    {
        Vector v = new Vector("ErrorResponse", mode);
        final ErrorCode code = ErrorCode.values()[mode.ordinal() + 1];
        v.is("error_code", code.value());
        v.print(new ErrorResponseFlyweight().wrap(v.buffer, 0)
            .offendingCommandCorrelationId(v.int64("offending_correlation_id")).errorCode(code)
            .errorMessage(v.text("error_message", "no such channel")).length());

        v = new Vector("OperationSuccess", mode);
        new OperationSucceededFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"));
        v.print(OperationSucceededFlyweight.LENGTH);

        v = new Vector("ClientTimeout", mode);
        new ClientTimeoutFlyweight().wrap(v.buffer, 0).clientId(v.int64("client_id"));
        v.print(ClientTimeoutFlyweight.LENGTH);

        v = new Vector("NextAvailableSessionId", mode);
        new NextAvailableSessionIdFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"))
            .nextSessionId(v.int32("session_id"));
        v.print(NextAvailableSessionIdFlyweight.LENGTH);

        v = new Vector("UnavailableImage", mode);
        v.print(new ImageMessageFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"))
            .subscriptionRegistrationId(v.int64("subscription_registration_id")).streamId(v.int32("stream_id"))
            .channel(v.text("channel", CHANNEL)).length());
    }

    private static void readiness(final Vector.Mode mode)
    {
        Vector v = new Vector("SubscriptionReady", mode);
        new SubscriptionReadyFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"))
            .channelStatusCounterId(v.int32("channel_status_counter_id"));
        v.print(SubscriptionReadyFlyweight.LENGTH);

        v = new Vector("AvailableImage", mode);
        v.print(new ImageBuffersReadyFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"))
            .sessionId(v.int32("session_id")).streamId(v.int32("stream_id"))
            .subscriptionRegistrationId(v.int64("subscription_registration_id"))
            .subscriberPositionId(v.int32("subscriber_position_counter_id")).logFileName(v.text("log_file", LOG_FILE))
            .sourceIdentity(v.text("source_identity", "127.0.0.1:40123")).length());

        v = new Vector("PublicationReady", mode);
        v.print(new PublicationBuffersReadyFlyweight().wrap(v.buffer, 0).correlationId(v.int64("correlation_id"))
            .registrationId(v.int64("registration_id")).sessionId(v.int32("session_id")).streamId(v.int32("stream_id"))
            .publicationLimitCounterId(v.int32("position_limit_counter_id"))
            .channelStatusCounterId(v.int32("channel_status_counter_id")).logFileName(v.text("log_file", LOG_FILE)).length());
    }

    private static void publicationError(final Vector.Mode mode, final int addressType, final int addressLength)
    {
        final Vector v = new Vector("PublicationErrorFrame", mode);
        final byte[] address = new byte[addressLength];
        for (int i = 0; i < addressLength; i++)
        {
            address[i] = (byte)(0xF0 - i);
        }
        v.is("address_type", addressType);
        v.bytes("source_address", Arrays.copyOf(address, 16));
        final ErrorCode code = ErrorCode.values()[mode.ordinal() + 1];
        v.is("error_code", code.value());
        v.print(new PublicationErrorFrameFlyweight().wrap(v.buffer, 0).registrationId(v.int64("registration_id"))
            .destinationRegistrationId(v.int64("destination_registration_id")).sessionId(v.int32("session_id"))
            .streamId(v.int32("stream_id")).receiverId(v.int64("receiver_id")).groupTag(v.int64("group_tag"))
            .sourceAddress(socketAddress(address, v.uint16("source_port"))).errorCode(code)
            .errorMessage(v.text("error_message", "no room")).length());
    }

    private static InetSocketAddress socketAddress(final byte[] address, final int port)
    {
        try
        {
            return new InetSocketAddress(InetAddress.getByAddress(address), port);
        }
        catch (final UnknownHostException ex)
        {
            throw new IllegalStateException(ex);
        }
    }
}
