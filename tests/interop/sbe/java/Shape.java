import java.util.ArrayList;
import java.util.List;

import uk.co.real_logic.sbe.ir.GenerationUtil;
import uk.co.real_logic.sbe.ir.Signal;
import uk.co.real_logic.sbe.ir.Token;

/** The members of a message, of a group or of a composite, each as the official tool's row of tokens. */
final class Shape
{
    final List<List<Token>> fields;
    final List<List<Token>> groups;
    final List<List<Token>> data;

    private Shape(final List<Token> tokens, final int first)
    {
        final List<Token> found = new ArrayList<>();
        int next = GenerationUtil.collectFields(tokens, first, found);
        fields = split(found);
        found.clear();
        next = GenerationUtil.collectGroups(tokens, next, found);
        groups = split(found);
        found.clear();
        GenerationUtil.collectVarData(tokens, next, found);
        data = split(found);
    }

    static Shape ofMessage(final List<Token> tokens)
    {
        return new Shape(tokens, 1);
    }

    /** Behind the token of a group stands its dimension composite. */
    static Shape ofGroup(final List<Token> tokens)
    {
        return new Shape(tokens, 1 + tokens.get(1).componentTokenCount());
    }

    /** The members of a composite, whose own tokens begin at {@code tokens.get(0)}. */
    static List<List<Token>> ofComposite(final List<Token> tokens)
    {
        return split(tokens.subList(1, tokens.size() - 1));
    }

    /** A field's type, without the field around it. */
    static List<Token> typeOf(final List<Token> field)
    {
        return field.subList(1, field.size() - 1);
    }

    static boolean isConstant(final Token field, final Token type)
    {
        return field.isConstantEncoding() || (type.signal() == Signal.ENCODING && type.isConstantEncoding());
    }

    private static List<List<Token>> split(final List<Token> tokens)
    {
        final List<List<Token>> parts = new ArrayList<>();
        for (int i = 0; i < tokens.size(); i += tokens.get(i).componentTokenCount())
        {
            parts.add(List.copyOf(tokens.subList(i, i + tokens.get(i).componentTokenCount())));
        }
        return parts;
    }
}
