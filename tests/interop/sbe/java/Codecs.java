import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;

import org.agrona.generation.CharSequenceJavaFileObject;
import org.agrona.generation.ClassFileManager;
import org.agrona.generation.StringWriterOutputManager;
import uk.co.real_logic.sbe.generation.Generators;
import uk.co.real_logic.sbe.generation.java.JavaGenerator;
import uk.co.real_logic.sbe.generation.java.JavaUtil;
import uk.co.real_logic.sbe.ir.Ir;

/** The official Java codecs of a schema, generated and compiled in memory, and called by the names that the schema's become. */
final class Codecs
{
    private static final Map<List<Object>, Method> METHODS = new HashMap<>();

    final Ir ir;
    private final ClassLoader loader;

    Codecs(final Ir ir) throws Exception
    {
        this.ir = ir;
        METHODS.clear();
        final StringWriterOutputManager output = new StringWriterOutputManager();
        output.setPackageName(ir.applicableNamespace());
        new JavaGenerator(
            ir, "org.agrona.MutableDirectBuffer", "org.agrona.DirectBuffer", false, false, false, output).generate();
        loader = compile(output.getSources());
    }

    private static ClassLoader compile(final Map<String, CharSequence> sources) throws Exception
    {
        final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        final DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        final ClassFileManager<?> files = new ClassFileManager<>(compiler.getStandardFileManager(said, null, null));
        final List<String> options = List.of("-proc:none", "-nowarn", "-g:none");
        final List<CharSequenceJavaFileObject> units =
            sources.entrySet().stream().map((one) -> new CharSequenceJavaFileObject(one.getKey(), one.getValue())).toList();
        if (!compiler.getTask(null, files, said, options, null, units).call())
        {
            throw new IllegalStateException("the generated codecs do not compile: " + said.getDiagnostics());
        }
        return files.getClassLoader(null);
    }

    String headerName()
    {
        return ir.headerStructure().tokens().get(0).applicableTypeName();
    }

    /** A new encoder or decoder of a message or of the header. */
    Object make(final String name, final String kind) throws Exception
    {
        return loader.loadClass(name(name, kind)).getConstructor().newInstance();
    }

    private String name(final String name, final String kind)
    {
        return ir.applicableNamespace() + "." + JavaUtil.formatClassName(name) + kind;
    }

    static String property(final String name)
    {
        return JavaUtil.formatPropertyName(name);
    }

    /** Call {@code prefix + Name}, as the generator puts a verb in front of a name. */
    static Object callVerb(final String verb, final Object target, final String name, final Object... arguments)
    {
        return call(target, verb + Generators.toUpperFirstChar(property(name)), arguments);
    }

    /** Call a method by its name and the arguments' types; numbers become what the method takes. */
    static Object call(final Object target, final String name, final Object... arguments)
    {
        final Class<?> owner = target instanceof Class<?> type ? type : target.getClass();
        final Method method = METHODS.computeIfAbsent(key(owner, name, arguments), (key) -> find(owner, name, arguments));
        try
        {
            final Object[] given = arguments.clone();
            for (int i = 0; i < given.length; i++)
            {
                if (given[i] instanceof Number number)
                {
                    given[i] = cast(number, method.getParameterTypes()[i]);
                }
            }
            return method.invoke(target, given);
        }
        catch (final InvocationTargetException ex)
        {
            throw ex.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(ex.getCause());
        }
        catch (final IllegalAccessException ex)
        {
            throw new IllegalStateException(ex);
        }
    }

    /** Where the flyweight stands in its buffer; a group's entry keeps that to itself. */
    static int offset(final Object flyweight)
    {
        try
        {
            final Field field = flyweight.getClass().getDeclaredField("offset");
            field.setAccessible(true);
            return field.getInt(flyweight);
        }
        catch (final ReflectiveOperationException ex)
        {
            throw new IllegalStateException(ex);
        }
    }

    private static List<Object> key(final Class<?> owner, final String name, final Object[] arguments)
    {
        final Object[] key = new Object[arguments.length + 2];
        key[0] = owner;
        key[1] = name;
        for (int i = 0; i < arguments.length; i++)
        {
            key[i + 2] = arguments[i].getClass();
        }
        return Arrays.asList(key);
    }

    private static Method find(final Class<?> owner, final String name, final Object[] arguments)
    {
        for (final Method method : owner.getMethods())
        {
            if (method.getName().equals(name) && takes(method.getParameterTypes(), arguments))
            {
                method.setAccessible(true);
                return method;
            }
        }
        throw new IllegalStateException(owner.getName() + " has no " + name + " for " + Arrays.toString(arguments));
    }

    private static boolean takes(final Class<?>[] parameters, final Object[] arguments)
    {
        if (parameters.length != arguments.length)
        {
            return false;
        }
        for (int i = 0; i < parameters.length; i++)
        {
            final boolean isNumber = parameters[i].isPrimitive() && boolean.class != parameters[i];
            final boolean fits = arguments[i] instanceof Number ? isNumber :
                arguments[i] instanceof Boolean ? boolean.class == parameters[i] : parameters[i].isInstance(arguments[i]);
            if (!fits)
            {
                return false;
            }
        }
        return true;
    }

    private static Object cast(final Number number, final Class<?> type)
    {
        if (type == byte.class)
        {
            return number.byteValue();
        }
        if (type == short.class)
        {
            return number.shortValue();
        }
        if (type == int.class)
        {
            return number.intValue();
        }
        if (type == long.class)
        {
            return number.longValue();
        }
        return type == float.class ? (Object)number.floatValue() : (Object)number.doubleValue();
    }
}
