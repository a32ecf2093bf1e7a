import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import uk.co.real_logic.sbe.PrimitiveType;
import uk.co.real_logic.sbe.PrimitiveValue;
import uk.co.real_logic.sbe.ir.Encoding;
import uk.co.real_logic.sbe.ir.Ir;
import uk.co.real_logic.sbe.ir.Signal;
import uk.co.real_logic.sbe.ir.Token;

/** What the official tool made of a schema: the tokens of its messages, of each what is true of its kind. */
final class Tokens
{
    private Tokens()
    {
    }

    static Map<String, Object> of(final Ir ir)
    {
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("header", rows(ir.headerStructure().tokens()));
        final Map<String, Object> messages = new LinkedHashMap<>();
        ir.messages().forEach((tokens) -> messages.put(tokens.get(0).name(), rows(tokens)));
        answer.put("messages", messages);
        return answer;
    }

    private static List<Object> rows(final List<Token> tokens)
    {
        final List<Object> rows = new ArrayList<>();
        for (final Token token : tokens)
        {
            if (!token.signal().name().startsWith("END_"))
            {
                rows.add(row(token));
            }
        }
        return rows;
    }

    private static Map<String, Object> row(final Token token)
    {
        final Encoding encoding = token.encoding();
        final Map<String, Object> row = new LinkedHashMap<>();
        row.put("signal", token.signal().name());
        row.put("name", token.name());
        row.put("deprecated", token.deprecated());
        switch (token.signal())
        {
            case BEGIN_MESSAGE:
            case BEGIN_GROUP:
                row.put("size", token.encodedLength());
                row.put("id", token.id());
                row.put("version", token.version());
                break;

            case BEGIN_FIELD:
                row.put("offset", token.offset());
                row.put("presence", encoding.presence().name().toLowerCase());
                row.put("id", token.id());
                row.put("version", token.version());
                break;

            case BEGIN_VAR_DATA:
                row.put("id", token.id());
                row.put("version", token.version());
                break;

            case VALID_VALUE:
            case CHOICE:
                row.put("version", token.version());
                row.put("value", value(encoding.primitiveType(), encoding.constValue()));
                break;

            default:
                row.put("type", token.applicableTypeName());
                row.put("size", token.encodedLength());
                row.put("offset", token.offset());
                putEncoding(row, token);
        }
        return row;
    }

    private static void putEncoding(final Map<String, Object> row, final Token token)
    {
        final Encoding encoding = token.encoding();
        final PrimitiveType primitive = encoding.primitiveType();
        if (token.signal() == Signal.BEGIN_COMPOSITE)
        {
            return;
        }
        row.put("primitive", primitive.primitiveName());
        if (token.signal() == Signal.BEGIN_ENUM)
        {
            row.put("null", value(primitive, encoding.applicableNullValue()));
        }
        else if (token.signal() == Signal.ENCODING && token.isConstantEncoding())
        {
            row.put("constant", value(primitive, encoding.constValue()));
        }
        else if (token.signal() == Signal.ENCODING)
        {
            row.put("presence", encoding.presence().name().toLowerCase());
            row.put("minimum", value(primitive, encoding.applicableMinValue()));
            row.put("maximum", value(primitive, encoding.applicableMaxValue()));
            row.put("null", token.isOptionalEncoding() ? value(primitive, encoding.applicableNullValue()) : null);
            row.put("characters", encoding.characterEncoding());
        }
    }

    /** A number as text; of a uint64 its bits say it. */
    private static String value(final PrimitiveType primitive, final PrimitiveValue value)
    {
        return primitive == PrimitiveType.UINT64 ? Long.toUnsignedString(value.longValue()) : value.toString();
    }
}
