import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Locale;
import java.util.jar.JarFile;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The codecs that the jar carries for the Archive's and the Cluster's messages.
 * <p>
 * {@code Codecs describe JAR PACKAGE...} prints what the classes say of themselves: class, name and value in each line, with tabs.
 * <p>
 * {@code Codecs run} encodes and decodes as its input says, one step in each line: {@code encode PACKAGE MESSAGE}, {@code put FIELD VALUE},
 * {@code bytes FIELD HEX}, {@code group NAME COUNT}, {@code next}, {@code end}, {@code done} (prints the message); {@code decode PACKAGE
 * MESSAGE HEX}, {@code group NAME} (prints the count), {@code next}, {@code end}, {@code get FIELD}, {@code bytes FIELD} (print it).
 */
public final class Codecs
{
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
    private static final HexFormat HEX = HexFormat.of();

    private final Deque<Object> codecs = new ArrayDeque<>();
    private MutableDirectBuffer buffer;
    private boolean isEncoding;

    public static void main(final String[] args) throws IOException, ReflectiveOperationException
    {
        if ("describe".equals(args[0]))
        {
            for (int i = 2; i < args.length; i++)
            {
                describe(args[1], args[i]);
            }
        }
        else
        {
            new Codecs().run();
        }
        OUT.flush();
    }

    private static void describe(final String jar, final String packageName) throws IOException, ReflectiveOperationException
    {
        final String folder = packageName.replace('.', '/') + "/";
        try (JarFile file = new JarFile(jar))
        {
            for (final String entry : file.stream().map(one -> one.getName()).sorted().toList())
            {
                if (entry.startsWith(folder) && entry.endsWith(".class") && entry.indexOf('/', folder.length()) < 0)
                {
                    final Class<?> type = Class.forName(entry.substring(0, entry.length() - 6).replace('/', '.'));
                    final String name = packageName + "\t" + entry.substring(folder.length(), entry.length() - 6);
                    if (type.isEnum() && !"MetaAttribute".equals(type.getSimpleName()))
                    {
                        describeEnum(name, type);
                    }
                    else if (type.getSimpleName().endsWith("Decoder"))
                    {
                        describeCodec(name, type);
                    }
                }
            }
        }
    }

    private static void describeEnum(final String name, final Class<?> type) throws ReflectiveOperationException
    {
        for (final Object constant : type.getEnumConstants())
        {
            OUT.println(name + "\t" + constant + "\t" + type.getMethod("value").invoke(constant));
        }
    }

    private static void describeCodec(final String name, final Class<?> type) throws ReflectiveOperationException
    {
        for (final java.lang.reflect.Field field : type.getFields())
        {
            if (Modifier.isStatic(field.getModifiers()))
            {
                OUT.println(name + "\t" + field.getName() + "\t" + field.get(null));
            }
        }
        for (final Method method : type.getMethods())
        {
            if (!Modifier.isStatic(method.getModifiers()))
            {
                continue;
            }
            if (method.getParameterCount() == 0)
            {
                OUT.println(name + "\t" + method.getName() + "()\t" + method.invoke(null));
            }
            else if (method.getName().endsWith("MetaAttribute"))
            {
                final String field = method.getName().substring(0, method.getName().length() - "MetaAttribute".length());
                for (final Object attribute : method.getParameterTypes()[0].getEnumConstants())
                {
                    if ("PRESENCE".equals(attribute.toString()))
                    {
                        OUT.println(name + "\t" + field + "Presence()\t" + method.invoke(null, attribute));
                    }
                }
            }
        }
    }

    private void run() throws IOException, ReflectiveOperationException
    {
        final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine())
        {
            final String[] words = line.split("\t", -1);
            switch (words[0])
            {
                case "encode" -> beginEncoding(words[1], words[2]);
                case "decode" -> beginDecoding(words[1], words[2], HEX.parseHex(words[3]));
                case "put" -> put(words[1], words[2]);
                case "get" -> OUT.println(call(codecs.peek(), words[1]));
                case "bytes" ->
                {
                    if (isEncoding)
                    {
                        putBytes(words[1], HEX.parseHex(words[2]));
                    }
                    else
                    {
                        getBytes(words[1]);
                    }
                }
                case "group" -> openGroup(words);
                case "next" -> call(codecs.peek(), "next");
                case "end" -> codecs.pop();
                case "done" -> finish();
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    private void beginEncoding(final String packageName, final String message) throws ReflectiveOperationException
    {
        buffer = new ExpandableArrayBuffer();
        final Object header = make(packageName + ".MessageHeaderEncoder");
        final Object encoder = make(packageName + "." + capitalised(message) + "Encoder");
        method(encoder, "wrapAndApplyHeader", 3).invoke(encoder, buffer, 0, header);
        codecs.clear();
        codecs.push(encoder);
        isEncoding = true;
    }

    private void beginDecoding(final String packageName, final String message, final byte[] bytes) throws ReflectiveOperationException
    {
        final DirectBuffer source = new UnsafeBuffer(bytes);
        final Object header = make(packageName + ".MessageHeaderDecoder");
        final Object decoder = make(packageName + "." + capitalised(message) + "Decoder");
        method(decoder, "wrapAndApplyHeader", 3).invoke(decoder, source, 0, header);
        codecs.clear();
        codecs.push(decoder);
        isEncoding = false;
    }

    private void put(final String field, final String value) throws ReflectiveOperationException
    {
        final Object codec = codecs.peek();
        for (final Method setter : codec.getClass().getMethods())
        {
            if (setter.getName().equals(field) && setter.getParameterCount() == 1)
            {
                final Class<?> type = setter.getParameterTypes()[0];
                if (type.isEnum())
                {
                    final Method valueOf = type.getMethod("valueOf", String.class);
                    setter.invoke(codec, valueOf.invoke(null, value));
                    return;
                }
                final Object given = parse(type, value);
                if (given != null)
                {
                    setter.invoke(codec, given);
                    return;
                }
            }
        }
        throw new NoSuchMethodException(codec.getClass() + "." + field);
    }

    private static Object parse(final Class<?> type, final String value)
    {
        if (type == String.class)
        {
            return value;
        }
        if (type == long.class)
        {
            return Long.valueOf(value);
        }
        if (type == int.class)
        {
            return Integer.valueOf(value);
        }
        if (type == short.class)
        {
            return Short.valueOf(value);
        }
        return type == byte.class ? Byte.valueOf(value) : null;
    }

    private void putBytes(final String field, final byte[] bytes) throws ReflectiveOperationException
    {
        final Object codec = codecs.peek();
        codec.getClass().getMethod("put" + capitalised(field), byte[].class, int.class, int.class).invoke(codec, bytes, 0, bytes.length);
    }

    private void getBytes(final String field) throws ReflectiveOperationException
    {
        final Object codec = codecs.peek();
        final byte[] bytes = new byte[(Integer)call(codec, field + "Length")];
        codec.getClass().getMethod("get" + capitalised(field), byte[].class, int.class, int.class).invoke(codec, bytes, 0, bytes.length);
        OUT.println(HEX.formatHex(bytes));
    }

    private void openGroup(final String[] words) throws ReflectiveOperationException
    {
        final Object codec = codecs.peek();
        if (isEncoding)
        {
            codecs.push(method(codec, words[1] + "Count", 1).invoke(codec, Integer.valueOf(words[2])));
            return;
        }
        codecs.push(call(codec, words[1]));
        OUT.println(call(codecs.peek(), "count"));
    }

    private void finish() throws ReflectiveOperationException
    {
        final int length = (Integer)call(codecs.peekLast(), "limit");
        final byte[] bytes = new byte[length];
        buffer.getBytes(0, bytes);
        OUT.println(HEX.formatHex(bytes));
    }

    private static Object make(final String name) throws ReflectiveOperationException
    {
        return Class.forName(name).getConstructor().newInstance();
    }

    private static Object call(final Object codec, final String name) throws ReflectiveOperationException
    {
        try
        {
            return codec.getClass().getMethod(name).invoke(codec);
        }
        catch (final InvocationTargetException ex)
        {
            throw new IllegalStateException(codec.getClass() + "." + name, ex.getCause());
        }
    }

    private static Method method(final Object codec, final String name, final int parameters) throws NoSuchMethodException
    {
        for (final Method method : codec.getClass().getMethods())
        {
            if (method.getName().equals(name) && method.getParameterCount() == parameters)
            {
                return method;
            }
        }
        throw new NoSuchMethodException(codec.getClass() + "." + name);
    }

    private static String capitalised(final String name)
    {
        return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
    }
}
