import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The messages that both ends agree on: lengths and contents drawn from one seed by xorshift64.
 *
 * <p>A message is a piece of a pool of random bytes, so that drawing one costs a few shifts and no copy; the Python
 * peers draw the same ones (payloads.py).
 */
final class Payloads
{
    static final int POOL_LENGTH = 81_920;
    private static final int START_MASK = 0xFFFF;

    final byte[] pool = new byte[POOL_LENGTH];
    int start;
    int length;

    private final int lengthMax;
    private long state;

    Payloads(final long seed, final int lengthMax)
    {
        if (lengthMax > POOL_LENGTH - START_MASK - 1)
        {
            throw new IllegalArgumentException("longest message is " + (POOL_LENGTH - START_MASK - 1) + ", got " + lengthMax);
        }
        this.state = 0 == seed ? 1 : seed;
        this.lengthMax = lengthMax;
        final ByteBuffer bytes = ByteBuffer.wrap(pool).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining())
        {
            bytes.putLong(draw());
        }
    }

    /** Choose the next message: {@code length} bytes of the pool from {@code start}. */
    void next()
    {
        final long drawn = draw();
        start = (int)(drawn & START_MASK);
        length = (int)((drawn >>> 33) % (lengthMax + 1));
    }

    private long draw()
    {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return state;
    }
}
