import io.aeron.Aeron;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ArchiveException;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.security.CredentialsSupplier;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Control sessions of the official client, one after another, each with credentials of its own and the answer to a challenge: what
 * tests/interop/archive/test_sessions.py does with ours.
 *
 * <p>{@code sessions=} names them as {@code transport/credentials/answer}, separated by spaces; {@code requests-TRANSPORT=} and
 * {@code responses-TRANSPORT=} are the channels. What comes of each step is a line of JSON.
 */
final class ArchiveSessions
{
    private static final String CHANNEL = "aeron:ipc?alias=guarded";
    private static final int STREAM_ID = 6001;

    public static void main(final String[] arguments)
    {
        final Arguments options = new Arguments(arguments);
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(options.text("dir"))))
        {
            for (final String session : options.list("sessions"))
            {
                final String[] given = session.split("/", -1);
                say("connect", () ->
                {
                    work(aeron, options, given);
                    return "closed";
                });
            }
        }
        System.out.println("{\"role\": \"sessions\"}");
    }

    private static void work(final Aeron aeron, final Arguments options, final String[] given)
    {
        final AeronArchive.Context context = new AeronArchive.Context()
            .aeron(aeron)
            .controlRequestChannel(options.text("requests-" + given[0]))
            .controlResponseChannel(options.text("responses-" + given[0]))
            .messageTimeoutNs(TimeUnit.SECONDS.toNanos(60))
            .credentialsSupplier(new CredentialsSupplier()
            {
                @Override
                public byte[] encodedCredentials()
                {
                    return given[1].getBytes(StandardCharsets.US_ASCII);
                }

                @Override
                public byte[] onChallenge(final byte[] encodedChallenge)
                {
                    return given[2].getBytes(StandardCharsets.US_ASCII);
                }
            });
        try (AeronArchive archive = AeronArchive.connect(context))
        {
            say("list", () -> archive.listRecordings(0, 10, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) -> {}));
            say("record", () -> archive.startRecording(CHANNEL, STREAM_ID, SourceLocation.LOCAL) >= 0);
            say("stop", () -> archive.tryStopRecording(CHANNEL, STREAM_ID));
            say("purge", () -> archive.purgeRecording(99));
        }
    }

    private static void say(final String name, final Callable<Object> operation)
    {
        String result;
        try
        {
            result = String.valueOf(operation.call());
        }
        catch (final ArchiveException error)
        {
            result = "error " + error.errorCode();
        }
        catch (final Exception error)
        {
            result = "exception " + error;
        }
        System.out.println("{\"operation\": \"" + name + "\", \"result\": \"" + result + "\"}");
    }
}
