import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

import uk.co.real_logic.sbe.SbeTool;
import uk.co.real_logic.sbe.json.JsonPrinter;

/**
 * The official tool behind a line protocol: a request is a JSON object on one line of the standard input, its answer one on a line of the
 * standard output, an error being {@code {"failure": TEXT}}. A schema is named by its path and read again when a request says so
 * ({@code read}); the other requests use what was read last under that path.
 */
public final class Oracle
{
    private static final int SCHEMAS_MAX = 16;

    private final Map<String, SchemaFile> schemas = new LinkedHashMap<>()
    {
        private static final long serialVersionUID = 1;

        protected boolean removeEldestEntry(final Map.Entry<String, SchemaFile> eldest)
        {
            return size() > SCHEMAS_MAX;
        }
    };

    private final Filling filling = new Filling();

    public static void main(final String[] args) throws IOException
    {
        final PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // What the tool prints of itself must not come between the answers.
        System.setOut(System.err);
        final BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        // Names that are Java's get an underscore, which no schema's answer shows.
        System.setProperty(SbeTool.KEYWORD_APPEND_TOKEN, "_");
        final Oracle oracle = new Oracle();
        for (String line = requests.readLine(); null != line; line = requests.readLine())
        {
            answers.print(Json.write(oracle.answer(line)) + "\n");
            answers.flush();
        }
    }

    private Map<String, Object> answer(final String line)
    {
        try
        {
            @SuppressWarnings("unchecked")
            final Map<String, Object> request = (Map<String, Object>)Json.read(line);
            return answer(request);
        }
        catch (final Exception | StackOverflowError | OutOfMemoryError ex)
        {
            final Map<String, Object> failed = new LinkedHashMap<>();
            failed.put("failure", ex.toString());
            return failed;
        }
    }

    private Map<String, Object> answer(final Map<String, Object> request) throws Exception
    {
        final Map<String, Object> answer = new LinkedHashMap<>();
        final String path = (String)request.get("schema");
        switch ((String)request.get("do"))
        {
            case "read":
                final SchemaFile read =
                    new SchemaFile(Path.of(path), (Boolean)request.get("xinclude"), (String)request.get("version"));
                schemas.put(path, read);
                answer.put("errors", read.saidAs("ERROR: "));
                answer.put("warnings", read.saidAs("WARNING: "));
                answer.put("exception", null == read.failure ? null : read.failure.toString());
                answer.put("messages", read.messages);
                break;

            case "print_json":
                final ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex((String)request.get("bytes")));
                answer.put("json", new JsonPrinter(schema(path).usable()).print(bytes));
                break;

            case "tokens":
                answer.putAll(Tokens.of(schema(path).usable()));
                break;

            case "encode":
                final byte[] encoded =
                    filling.encode(schema(path).codecs(), (String)request.get("message"), (Map<?, ?>)request.get("values"));
                answer.put("bytes", HexFormat.of().formatHex(encoded));
                break;

            case "decode":
                final byte[] given = HexFormat.of().parseHex((String)request.get("bytes"));
                answer.putAll(new Extraction().decode(schema(path).codecs(), given));
                break;

            default:
                throw new IllegalArgumentException("unknown request");
        }
        return answer;
    }

    private SchemaFile schema(final String path)
    {
        final SchemaFile schema = schemas.get(path);
        if (null == schema)
        {
            throw new IllegalArgumentException(path + " was not read");
        }
        return schema;
    }
}
