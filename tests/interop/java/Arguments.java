import java.util.HashMap;
import java.util.Map;

/** The peers' arguments, each {@code name=value}, as the Python peers take them. */
final class Arguments
{
    private final Map<String, String> values = new HashMap<>();

    Arguments(final String[] arguments)
    {
        for (final String argument : arguments)
        {
            final int equals = argument.indexOf('=');
            if (equals < 0)
            {
                throw new IllegalArgumentException("expected name=value, got " + argument);
            }
            values.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
    }

    String text(final String name)
    {
        final String value = values.get(name);
        if (null == value)
        {
            throw new IllegalArgumentException("missing " + name + "=...");
        }
        return value;
    }

    String text(final String name, final String otherwise)
    {
        return values.getOrDefault(name, otherwise);
    }

    int integer(final String name)
    {
        return Integer.parseInt(text(name));
    }

    long number(final String name)
    {
        return Long.parseLong(text(name));
    }

    long number(final String name, final long otherwise)
    {
        return values.containsKey(name) ? number(name) : otherwise;
    }

    /** What spaces separate; nothing when it is not given. */
    String[] list(final String name)
    {
        final String value = values.getOrDefault(name, "").strip();
        return value.isEmpty() ? new String[0] : value.split(" +");
    }

    boolean flag(final String name)
    {
        return Boolean.parseBoolean(values.getOrDefault(name, "false"));
    }
}
