import java.math.BigInteger;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

import org.agrona.concurrent.UnsafeBuffer;
import uk.co.real_logic.sbe.PrimitiveType;
import uk.co.real_logic.sbe.ir.Encoding;
import uk.co.real_logic.sbe.ir.Token;

/**
 * Fills the official encoders from values by the schema's names.
 * <p>
 * Numbers are numbers, a null is the encoder's own null value; a char is a text of one character; enums and sets are their numbers;
 * composites and entries are objects; data without a character encoding is hexadecimal. What the official encoders have no method for,
 * an unknown value of an enum and unknown bits of a set, goes to the place that they name for it.
 */
final class Filling
{
    private static final int LENGTH_MAX = 1 << 22;

    private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[LENGTH_MAX]);

    byte[] encode(final Codecs codecs, final String name, final Map<?, ?> values) throws Exception
    {
        final List<Token> tokens = codecs.ir.messages().stream()
            .filter((message) -> message.get(0).name().equals(name)).findFirst().orElseThrow();
        final Object encoder = codecs.make(name, "Encoder");
        Codecs.call(encoder, "wrapAndApplyHeader", buffer, 0, codecs.make(codecs.headerName(), "Encoder"));
        fill(encoder, Shape.ofMessage(tokens), values);
        final byte[] bytes = new byte[(int)Codecs.call(encoder, "limit")];
        buffer.getBytes(0, bytes);
        buffer.setMemory(0, bytes.length, (byte)0);
        return bytes;
    }

    private void fill(final Object encoder, final Shape shape, final Map<?, ?> values)
    {
        for (final List<Token> field : shape.fields)
        {
            final Token token = field.get(0);
            final List<Token> type = Shape.typeOf(field);
            if (!Shape.isConstant(token, type.get(0)))
            {
                put(encoder, token.name(), type, values.get(token.name()));
            }
        }
        for (final List<Token> group : shape.groups)
        {
            final String name = group.get(0).name();
            final List<?> entries = (List<?>)values.get(name);
            final Object entryEncoder = Codecs.call(encoder, Codecs.property(name) + "Count", entries.size());
            final Shape entryShape = Shape.ofGroup(group);
            for (final Object entry : entries)
            {
                Codecs.call(entryEncoder, "next");
                fill(entryEncoder, entryShape, (Map<?, ?>)entry);
            }
        }
        for (final List<Token> data : shape.data)
        {
            final String name = data.get(0).name();
            final String value = (String)values.get(name);
            if (null == data.get(3).encoding().characterEncoding())
            {
                final byte[] bytes = HexFormat.of().parseHex(value);
                Codecs.callVerb("put", encoder, name, bytes, 0, bytes.length);
            }
            else
            {
                Codecs.call(encoder, Codecs.property(name), value);
            }
        }
    }

    private void put(final Object encoder, final String name, final List<Token> type, final Object value)
    {
        switch (type.get(0).signal())
        {
            case ENCODING:
                putEncoded(encoder, name, type.get(0), value);
                break;

            case BEGIN_ENUM:
                putEnum(encoder, name, type.get(0), (BigInteger)value);
                break;

            case BEGIN_SET:
                putSet(encoder, name, type, (BigInteger)value);
                break;

            default:
                final Object composite = Codecs.call(encoder, Codecs.property(name));
                for (final List<Token> member : Shape.ofComposite(type))
                {
                    final Token token = member.get(0);
                    if (!Shape.isConstant(token, token))
                    {
                        put(composite, token.name(), member, ((Map<?, ?>)value).get(token.name()));
                    }
                }
        }
    }

    private static void putEncoded(final Object encoder, final String name, final Token type, final Object value)
    {
        final String property = Codecs.property(name);
        final boolean isChar = type.encoding().primitiveType() == PrimitiveType.CHAR;
        if (type.arrayLength() == 1)
        {
            final Object given = null == value ? Codecs.call(encoder.getClass(), property + "NullValue") :
                isChar ? (int)((String)value).charAt(0) : value;
            Codecs.call(encoder, property, given);
        }
        else if (isChar)
        {
            Codecs.call(encoder, property, value);
        }
        else
        {
            int i = 0;
            for (final Object item : (List<?>)value)
            {
                Codecs.call(encoder, property, i++, item);
            }
        }
    }

    private void putEnum(final Object encoder, final String name, final Token type, final BigInteger value)
    {
        final String property = Codecs.property(name);
        for (final Object constant : constants(encoder.getClass(), property))
        {
            final boolean isWanted = null == value ? constant.toString().equals("NULL_VAL") :
                ((Number)Codecs.call(constant, "value")).longValue() == value.longValue();
            if (isWanted)
            {
                Codecs.call(encoder, property, constant);
                return;
            }
        }
        poke(Codecs.offset(encoder) + type.offset(), type.encoding(), value.longValue());
    }

    private static Object[] constants(final Class<?> encoder, final String property)
    {
        for (final java.lang.reflect.Method method : encoder.getMethods())
        {
            if (method.getName().equals(property) && method.getParameterCount() == 1)
            {
                return method.getParameterTypes()[0].getEnumConstants();
            }
        }
        throw new IllegalStateException(encoder.getName() + " has no " + property);
    }

    private void putSet(final Object encoder, final String name, final List<Token> type, final BigInteger value)
    {
        final Object set = Codecs.call(encoder, Codecs.property(name));
        Codecs.call(set, "clear");
        BigInteger left = value;
        for (final Token choice : type.subList(1, type.size() - 1))
        {
            final int bit = (int)choice.encoding().constValue().longValue();
            Codecs.call(set, Codecs.property(choice.name()), value.testBit(bit));
            left = left.clearBit(bit);
        }
        if (left.signum() != 0)
        {
            final Token first = type.get(0);
            poke(Codecs.offset(set), new Encoding.Builder().primitiveType(first.encoding().primitiveType())
                .byteOrder(type.size() > 2 ? type.get(1).encoding().byteOrder() : null).build(), value.longValue());
        }
    }

    private void poke(final int at, final Encoding encoding, final long value)
    {
        switch (encoding.primitiveType().size())
        {
            case 1:
                buffer.putByte(at, (byte)value);
                break;
            case 2:
                buffer.putShort(at, (short)value, encoding.byteOrder());
                break;
            case 4:
                buffer.putInt(at, (int)value, encoding.byteOrder());
                break;
            default:
                buffer.putLong(at, value, encoding.byteOrder());
        }
    }
}
