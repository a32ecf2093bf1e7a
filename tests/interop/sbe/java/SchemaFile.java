import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.xml.sax.InputSource;
import uk.co.real_logic.sbe.ir.Ir;
import uk.co.real_logic.sbe.xml.IrGenerator;
import uk.co.real_logic.sbe.xml.Message;
import uk.co.real_logic.sbe.xml.MessageSchema;
import uk.co.real_logic.sbe.xml.ParserOptions;
import uk.co.real_logic.sbe.xml.SchemaTransformerFactory;
import uk.co.real_logic.sbe.xml.XmlSchemaParser;

/** A schema file read by the official parser: what the parser said of it and, when there was no error, what it made of it. */
final class SchemaFile
{
    /** The lines of the parser, each with {@code ERROR: } or {@code WARNING: } in front. */
    final List<String> said = new ArrayList<>();
    final List<String> messages = new ArrayList<>();
    /** What ended the reading; null when nothing did. */
    final Throwable failure;
    private final Ir ir;
    private Codecs codecs;

    /** {@code version} is that of the transformation, null for none. */
    SchemaFile(final Path path, final boolean isXIncludeAware, final String version)
    {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        Ir made = null;
        Throwable caught = null;
        try (PrintStream lines = new PrintStream(out, true, StandardCharsets.UTF_8))
        {
            final ParserOptions options =
                ParserOptions.builder().xIncludeAware(isXIncludeAware).errorPrintStream(lines).build();
            final MessageSchema schema = XmlSchemaParser.parse(new InputSource(path.toUri().toString()), options);
            schema.messages().stream().map(Message::name).forEach(messages::add);
            made = new IrGenerator().generate(new SchemaTransformerFactory(version).transform(schema), null);
        }
        catch (final Exception | StackOverflowError ex)
        {
            caught = ex;
        }
        out.toString(StandardCharsets.UTF_8).lines().forEach(said::add);
        failure = caught;
        ir = made;
    }

    Ir usable()
    {
        if (null == ir)
        {
            throw new IllegalArgumentException("the schema has errors: " + failure, failure);
        }
        return ir;
    }

    /** The generated codecs, made when they are first asked for. */
    Codecs codecs() throws Exception
    {
        if (null == codecs)
        {
            codecs = new Codecs(usable());
        }
        return codecs;
    }

    List<String> saidAs(final String prefix)
    {
        final Stream<String> lines = said.stream().filter((line) -> line.startsWith(prefix));
        return lines.map((line) -> line.substring(prefix.length())).toList();
    }
}
