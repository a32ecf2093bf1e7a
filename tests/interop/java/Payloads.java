import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The messages that both ends agree on: lengths and contents drawn from one seed by xorshift64.
 *
 * <p>A message is a piece of a pool of random bytes, repeated where messages are longer, so that drawing one costs a
 * few shifts and no copy; the Python peers draw the same ones (payloads.py).
 */
final class Payloads
{
    static final int POOL_LENGTH = 81_920;
    private static final int START_MASK = 0xFFFF;

    final byte[] pool;
    int start;
    int length;

    private final int lengthMax;
    private long state;

    Payloads(final long seed, final int lengthMax)
    {
        this.state = 0 == seed ? 1 : seed;
        this.lengthMax = lengthMax;
        this.pool = new byte[(START_MASK + lengthMax + POOL_LENGTH) / POOL_LENGTH * POOL_LENGTH];
        final ByteBuffer bytes = ByteBuffer.wrap(pool, 0, POOL_LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining())
        {
            bytes.putLong(draw());
        }
        for (int at = POOL_LENGTH; at < pool.length; at += POOL_LENGTH)
        {
            System.arraycopy(pool, 0, pool, at, POOL_LENGTH);
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
