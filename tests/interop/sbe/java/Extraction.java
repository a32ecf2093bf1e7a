import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.agrona.concurrent.UnsafeBuffer;
import uk.co.real_logic.sbe.PrimitiveType;
import uk.co.real_logic.sbe.ir.Token;

/**
 * Reads a message with the official decoders, into values as {@link Filling} takes them; constants are there too.
 * <p>
 * Null is a field that is newer than the message, and a number that is optional and equals the decoder's null value. Enums are always
 * their numbers.
 */
final class Extraction
{
    private int actingVersion;

    Map<String, Object> decode(final Codecs codecs, final byte[] bytes) throws Exception
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(bytes);
        final Object header = codecs.make(codecs.headerName(), "Decoder");
        Codecs.call(header, "wrap", buffer, 0);
        final long templateId = ((Number)Codecs.call(header, "templateId")).longValue();
        final List<Token> tokens = codecs.ir.getMessage(templateId);
        if (null == tokens)
        {
            throw new IllegalArgumentException("no message has template id " + templateId);
        }
        final String name = tokens.get(0).name();
        final Object decoder = codecs.make(name, "Decoder");
        Codecs.call(decoder, "wrapAndApplyHeader", buffer, 0, header);
        actingVersion = (int)Codecs.call(decoder, "actingVersion");
        final int skipped = (int)Codecs.call(decoder, "sbeDecodedLength");

        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("message", name);
        answer.put("values", extract(decoder, Shape.ofMessage(tokens)));
        answer.put("length", Codecs.call(decoder, "limit"));
        answer.put("skipped", Codecs.offset(decoder) + skipped);
        return answer;
    }

    private Map<String, Object> extract(final Object decoder, final Shape shape)
    {
        final Map<String, Object> values = new LinkedHashMap<>();
        for (final List<Token> field : shape.fields)
        {
            final Token token = field.get(0);
            final boolean isAbsent = token.version() > actingVersion;
            final List<Token> type = Shape.typeOf(field);
            values.put(token.name(), isAbsent ? absent(decoder, token, type) : get(decoder, token, type));
        }
        for (final List<Token> group : shape.groups)
        {
            final String name = group.get(0).name();
            final Object entryDecoder = Codecs.call(decoder, Codecs.property(name));
            final Shape entryShape = Shape.ofGroup(group);
            final List<Object> entries = new ArrayList<>();
            while ((boolean)Codecs.call(entryDecoder, "hasNext"))
            {
                Codecs.call(entryDecoder, "next");
                entries.add(extract(entryDecoder, entryShape));
            }
            values.put(name, entries);
        }
        for (final List<Token> data : shape.data)
        {
            final String name = data.get(0).name();
            if (null == data.get(3).encoding().characterEncoding())
            {
                final byte[] bytes = new byte[(int)Codecs.call(decoder, Codecs.property(name) + "Length")];
                Codecs.callVerb("get", decoder, name, bytes, 0, bytes.length);
                values.put(name, HexFormat.of().formatHex(bytes));
            }
            else
            {
                values.put(name, Codecs.call(decoder, Codecs.property(name)));
            }
        }
        return values;
    }

    /** Constants are there in every version; of the others, see that the decoder says that there is nothing. */
    private Object absent(final Object decoder, final Token field, final List<Token> type)
    {
        final Token first = type.get(0);
        if (Shape.isConstant(field, first))
        {
            return get(decoder, field, type);
        }
        switch (first.signal())
        {
            case ENCODING:
                return null;

            case BEGIN_ENUM:
                final Object value = Codecs.call(decoder, Codecs.property(field.name()));
                if (!value.toString().equals("NULL_VAL"))
                {
                    throw new IllegalStateException(field.name() + " is newer than the message and has " + value);
                }
                return null;

            default:
                return Codecs.call(decoder, Codecs.property(field.name()));
        }
    }

    private Object get(final Object decoder, final Token field, final List<Token> type)
    {
        final Token first = type.get(0);
        final String property = Codecs.property(field.name());
        switch (first.signal())
        {
            case ENCODING:
                return encoded(decoder, property, field, first);

            case BEGIN_ENUM:
                return whole(first.encoding().primitiveType(), Codecs.call(decoder, property + "Raw"));

            case BEGIN_SET:
                return set(Codecs.call(decoder, property), type);

            default:
                final Object composite = Codecs.call(decoder, property);
                final Map<String, Object> values = new LinkedHashMap<>();
                for (final List<Token> member : Shape.ofComposite(type))
                {
                    values.put(member.get(0).name(), get(composite, member.get(0), member));
                }
                return values;
        }
    }

    private static Object encoded(final Object decoder, final String property, final Token field, final Token type)
    {
        final PrimitiveType primitive = type.encoding().primitiveType();
        if (type.isConstantEncoding())
        {
            final Object constant = Codecs.call(decoder, property);
            return constant instanceof String text ? text : number(primitive, constant);
        }
        if (type.arrayLength() == 1)
        {
            final Object value = Codecs.call(decoder, property);
            final boolean isOptional = type.isOptionalEncoding();
            return isOptional && value.equals(Codecs.call(decoder.getClass(), property + "NullValue")) ? null : number(primitive, value);
        }
        if (primitive == PrimitiveType.CHAR)
        {
            return Codecs.call(decoder, property);
        }
        final List<Object> items = new ArrayList<>();
        for (int i = 0; i < type.arrayLength(); i++)
        {
            items.add(number(primitive, Codecs.call(decoder, property, i)));
        }
        return items;
    }

    /** The set's number, which its choices are compared with. */
    private static Object set(final Object decoder, final List<Token> type)
    {
        final Object number = whole(type.get(0).encoding().primitiveType(), Codecs.call(decoder, "getRaw"));
        for (final Token choice : type.subList(1, type.size() - 1))
        {
            final boolean isSet = (boolean)Codecs.call(decoder, Codecs.property(choice.name()));
            if (isSet != ((BigInteger)number).testBit((int)choice.encoding().constValue().longValue()))
            {
                throw new IllegalStateException(choice.name() + " is not its bit of " + number);
            }
        }
        return number;
    }

    private static Object number(final PrimitiveType primitive, final Object value)
    {
        switch (primitive)
        {
            case CHAR:
                return new String(new byte[]{(byte)value}, StandardCharsets.ISO_8859_1);

            case FLOAT:
            case DOUBLE:
                return ((Number)value).doubleValue();

            default:
                return whole(primitive, value);
        }
    }

    /** Java has no unsigned numbers; what a decoder returns of one is what the number's bits make. */
    private static BigInteger whole(final PrimitiveType primitive, final Object value)
    {
        final long number = ((Number)value).longValue();
        return primitive == PrimitiveType.UINT64 ? new BigInteger(Long.toUnsignedString(number)) : BigInteger.valueOf(number);
    }
}
