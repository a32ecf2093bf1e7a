import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.StringJoiner;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One test vector in the making: a flyweight writes its bytes into the buffer, and each value given to it is noted under
 * the name that the specification has for its field.
 */
final class Vector
{
    /** How the integers of a vector are chosen. */
    enum Mode
    {
        ZEROS, TYPICAL, LEAST, GREATEST
    }

    private static final int CAPACITY = 4096;

    final Mode mode;
    final UnsafeBuffer buffer = new UnsafeBuffer(new byte[CAPACITY]);
    private final String struct;
    private final StringJoiner fields = new StringJoiner(", ", "{", "}");
    private int count;

    Vector(final String struct, final Mode mode)
    {
        this.struct = struct;
        this.mode = mode;
    }

    long int64(final String field)
    {
        return integer(field, Long.MIN_VALUE, Long.MAX_VALUE, 0x0102030405060708L);
    }

    int int32(final String field)
    {
        return (int)integer(field, Integer.MIN_VALUE, Integer.MAX_VALUE, 0x01020304);
    }

    int uint16(final String field)
    {
        return (int)integer(field, 0, 0xFFFF, 0x0102);
    }

    short int8(final String field)
    {
        return (short)integer(field, Byte.MIN_VALUE, Byte.MAX_VALUE, 1);
    }

    short uint8(final String field)
    {
        return (short)integer(field, 0, 0xFF, 0xC0);
    }

    /** A number that may not be negative. */
    long positive(final String field)
    {
        return integer(field, 0, Long.MAX_VALUE, 0x0102030405060708L);
    }

    boolean flag(final String field)
    {
        final boolean value = Mode.GREATEST == mode || Mode.TYPICAL == mode && 0 == count % 2;
        count++;
        note(field, value ? "1" : "0");
        return value;
    }

    /** Numbers that were chosen without a name. */
    void list(final String field, final long[] values)
    {
        note(field, Arrays.toString(values));
    }

    /** Entries of a list, each with values of its own. */
    void list(final String field, final Vector... entries)
    {
        final StringJoiner all = new StringJoiner(", ", "[", "]");
        for (final Vector entry : entries)
        {
            all.add(entry.fields.toString());
        }
        note(field, all.toString());
    }

    /** A value that is not for the mode to choose. */
    int is(final String field, final int value)
    {
        note(field, Integer.toString(value));
        return value;
    }

    long is(final String field, final long value)
    {
        note(field, Long.toString(value));
        return value;
    }

    /** Empty, a typical one, one byte past a multiple of four, and a long one; without the field of its length. */
    String text(final String field, final String typical)
    {
        final String value = switch (mode)
        {
            case ZEROS -> "";
            case TYPICAL -> typical;
            case LEAST -> "abcde";
            case GREATEST -> typical.repeat(3);
        };
        note(field, '"' + value + '"');
        return value;
    }

    byte[] bytes(final String field, final byte[] value)
    {
        note(field, "{\"hex\": \"" + HexFormat.of().formatHex(value) + "\"}");
        return value;
    }

    byte[] octets(final String field)
    {
        return bytes(field, switch (mode)
        {
            case ZEROS -> new byte[0];
            case TYPICAL -> new byte[] {1, 2, 3, 4, 5, 6, 7, 8};
            case LEAST -> new byte[] {-128};
            case GREATEST -> new byte[] {-1, -1, -1, -1, -1, -1, -1};
        });
    }

    /** Text that the flyweight takes as bytes. */
    byte[] name(final String field, final String typical)
    {
        return text(field, typical).getBytes(StandardCharsets.US_ASCII);
    }

    /** Print the struct, its values and the first bytes of the buffer. */
    void print(final int length)
    {
        final byte[] written = new byte[length];
        buffer.getBytes(0, written);
        System.out.println(struct + "\t" + fields + "\t" + HexFormat.of().formatHex(written));
    }

    /** Print the struct with bytes that were written elsewhere. */
    void copy(final DirectBuffer source, final int offset, final int length)
    {
        buffer.putBytes(0, source, offset, length);
        print(length);
    }

    private long integer(final String field, final long least, final long greatest, final long typical)
    {
        final long value = switch (mode)
        {
            case ZEROS -> 0;
            case TYPICAL -> 0 == count % 2 || 0 == least ? typical + count : -typical - count;
            case LEAST -> least;
            case GREATEST -> greatest;
        };
        count++;
        note(field, Long.toString(value));
        return value;
    }

    private void note(final String field, final String json)
    {
        if (field.isEmpty())
        {
            return;
        }
        fields.add('"' + field + "\": " + json);
    }
}
