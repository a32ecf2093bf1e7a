import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 over every message, its length (four bytes, little-endian) before its content. */
final class ContentHash
{
    private final MessageDigest digest;
    private final byte[] lengthBytes = new byte[4];
    private final ByteBuffer lengthBuffer = ByteBuffer.wrap(lengthBytes).order(ByteOrder.LITTLE_ENDIAN);
    private long messages;
    private long bytes;

    ContentHash()
    {
        try
        {
            digest = MessageDigest.getInstance("SHA-256");
        }
        catch (final NoSuchAlgorithmException ex)
        {
            throw new IllegalStateException(ex);
        }
    }

    void add(final byte[] source, final int offset, final int length)
    {
        lengthBuffer.putInt(0, length);
        digest.update(lengthBytes);
        digest.update(source, offset, length);
        messages++;
        bytes += length;
    }

    long messages()
    {
        return messages;
    }

    /** The result as the fields of a JSON object. Ends the hash. */
    String fields()
    {
        return "\"messages\": " + messages + ", \"bytes\": " + bytes +
            ", \"sha256\": \"" + HexFormat.of().formatHex(digest.digest()) + "\"";
    }
}
