import io.aeron.security.Authenticator;
import io.aeron.security.AuthenticatorSupplier;
import io.aeron.security.SessionProxy;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Challenges every client that says "hello", and accepts those that answer "secret". All others it rejects. */
public final class ChallengingAuthenticatorSupplier implements AuthenticatorSupplier
{
    static final byte[] CHALLENGE = bytes("who-are-you");
    static final byte[] ANSWER = bytes("secret");
    private static final byte[] GREETING = bytes("hello");

    @Override
    public Authenticator get()
    {
        return new Challenging();
    }

    private static byte[] bytes(final String text)
    {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static final class Challenging implements Authenticator
    {
        private boolean greeted;
        private boolean known;

        @Override
        public void onConnectRequest(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            greeted = Arrays.equals(GREETING, encodedCredentials);
            known = false;
        }

        @Override
        public void onChallengeResponse(final long sessionId, final byte[] encodedCredentials, final long nowMs)
        {
            known = Arrays.equals(ANSWER, encodedCredentials);
            greeted = false;
        }

        @Override
        public void onConnectedSession(final SessionProxy session, final long nowMs)
        {
            if (greeted)
            {
                session.challenge(CHALLENGE);
            }
            else
            {
                session.reject();
            }
        }

        @Override
        public void onChallengedSession(final SessionProxy session, final long nowMs)
        {
            if (known)
            {
                session.authenticate(new byte[0]);
            }
            else if (!greeted)
            {
                session.reject();
            }
        }
    }
}
