import io.aeron.archive.codecs.ArchiveIdRequestDecoder;
import io.aeron.archive.codecs.ListRecordingsRequestDecoder;
import io.aeron.archive.codecs.MessageHeaderDecoder;
import io.aeron.security.Authenticator;
import io.aeron.security.AuthenticatorSupplier;
import io.aeron.security.AuthorisationService;
import io.aeron.security.AuthorisationServiceSupplier;
import io.aeron.security.SessionProxy;
import io.aeron.security.SimpleAuthorisationService;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Authentication and authorisation of an archive: what tests/interop/archive/guards.py gives ours.
 *
 * <p>"admin:secret" and "reader:secret" are accepted at once; "hello" is challenged, and is the admin if it answers "secret". All others
 * are rejected. The reader may connect, for which the archive's id is asked, and list recordings.
 */
final class Guards
{
    private static final String ADMIN = "admin";
    private static final String READER = "reader";
    private static final String GREETING = "hello";
    private static final String SECRET = "secret";

    private static byte[] bytes(final String text)
    {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static String text(final byte[] bytes)
    {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    /** Supplies the authenticator. */
    public static final class Authentication implements AuthenticatorSupplier
    {
        @Override
        public Authenticator get()
        {
            return new Users();
        }
    }

    /** Supplies the rules. */
    public static final class Authorisation implements AuthorisationServiceSupplier
    {
        @Override
        public AuthorisationService get()
        {
            return new SimpleAuthorisationService.Builder()
                .defaultAuthorisation(AuthorisationService.DENY_ALL)
                .addPrincipalRule(MessageHeaderDecoder.SCHEMA_ID, bytes(ADMIN), true)
                .addPrincipalRule(MessageHeaderDecoder.SCHEMA_ID, ArchiveIdRequestDecoder.TEMPLATE_ID, bytes(READER), true)
                .addPrincipalRule(MessageHeaderDecoder.SCHEMA_ID, ListRecordingsRequestDecoder.TEMPLATE_ID, bytes(READER), true)
                .newInstance();
        }
    }

    private static final class Users implements Authenticator
    {
        private final Map<Long, String> said = new HashMap<>();

        @Override
        public void onConnectRequest(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            said.put(sessionId, text(encodedCredentials));
        }

        @Override
        public void onChallengeResponse(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            said.put(sessionId, text(encodedCredentials));
        }

        @Override
        public void onConnectedSession(final SessionProxy session, final long nowMs)
        {
            final String credentials = said.get(session.sessionId());
            if (GREETING.equals(credentials))
            {
                session.challenge(bytes("who-are-you"));
            }
            else if ((ADMIN + ":" + SECRET).equals(credentials))
            {
                session.authenticate(bytes(ADMIN));
            }
            else if ((READER + ":" + SECRET).equals(credentials))
            {
                session.authenticate(bytes(READER));
            }
            else
            {
                session.reject();
            }
        }

        @Override
        public void onChallengedSession(final SessionProxy session, final long nowMs)
        {
            final String answer = said.get(session.sessionId());
            if (SECRET.equals(answer))
            {
                session.authenticate(bytes(ADMIN));
            }
            else if (!GREETING.equals(answer))
            {
                session.reject();
            }
        }
    }
}
