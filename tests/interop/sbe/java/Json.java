import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as Python's {@code json} module writes and reads it: integers of any size, and {@code NaN}, {@code Infinity} and {@code -Infinity}
 * as numbers. Objects are {@link Map}, arrays {@link List}, integers {@link BigInteger}, other numbers {@link Double}.
 */
final class Json
{
    private final String text;
    private int at;

    private Json(final String text)
    {
        this.text = text;
    }

    static Object read(final String text)
    {
        final Json json = new Json(text);
        final Object value = json.value();
        json.skipSpace();
        if (json.at != text.length())
        {
            throw new IllegalArgumentException("more than one JSON value, at " + json.at);
        }
        return value;
    }

    static String write(final Object value)
    {
        final StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(final Object value, final StringBuilder out)
    {
        if (value instanceof Map<?, ?> map)
        {
            String separator = "{";
            for (final Map.Entry<?, ?> entry : map.entrySet())
            {
                out.append(separator);
                writeText(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        }
        else if (value instanceof List<?> list)
        {
            String separator = "[";
            for (final Object item : list)
            {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        }
        else if (value instanceof String string)
        {
            writeText(string, out);
        }
        else
        {
            out.append(value);
        }
    }

    private static void writeText(final String string, final StringBuilder out)
    {
        out.append('"');
        for (int i = 0; i < string.length(); i++)
        {
            final char c = string.charAt(i);
            if (c == '"' || c == '\\')
            {
                out.append('\\').append(c);
            }
            else if (c < 0x20 || c > 0x7E)
            {
                out.append(String.format("\\u%04x", (int)c));
            }
            else
            {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value()
    {
        skipSpace();
        switch (text.charAt(at))
        {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object()
    {
        final Map<String, Object> map = new LinkedHashMap<>();
        at++;
        while (!ends('}'))
        {
            skipSpace();
            final String key = string();
            skipSpace();
            at++;
            map.put(key, value());
        }
        return map;
    }

    private List<Object> array()
    {
        final List<Object> list = new ArrayList<>();
        at++;
        while (!ends(']'))
        {
            list.add(value());
        }
        return list;
    }

    /** Step over the separator in front of the next item, or over the bracket when there is none. */
    private boolean ends(final char bracket)
    {
        skipSpace();
        final char c = text.charAt(at);
        if (c == bracket || c == ',')
        {
            at++;
        }
        return c == bracket;
    }

    private String string()
    {
        final StringBuilder out = new StringBuilder();
        at++;
        for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++))
        {
            out.append(c == '\\' ? escaped() : c);
        }
        return out.toString();
    }

    private char escaped()
    {
        final char c = text.charAt(at++);
        switch (c)
        {
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                at += 4;
                return (char)Integer.parseInt(text, at - 4, at, 16);
            default:
                return c;
        }
    }

    private Object word()
    {
        final int start = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0)
        {
            at++;
        }
        final String word = text.substring(start, at);
        switch (word)
        {
            case "null":
                return null;
            case "true":
                return Boolean.TRUE;
            case "false":
                return Boolean.FALSE;
            default:
                return word.matches("-?[0-9]+") ? new BigInteger(word) : (Object)Double.valueOf(word);
        }
    }

    private void skipSpace()
    {
        while (at < text.length() && text.charAt(at) <= ' ')
        {
            at++;
        }
    }
}
