import io.aeron.archive.ArchiveTool;

/**
 * The official tool on several directories of archives, by one virtual machine: {@code COMMAND... -- DIRECTORY...}. Before what it prints
 * of each directory stands a line with the directory. Ends with another code than 0 at the first directory that does not pass.
 */
final class ArchiveTools
{
    public static void main(final String[] arguments)
    {
        int command = 0;
        while (!"--".equals(arguments[command]))
        {
            command++;
        }
        final String[] given = new String[command + 1];
        System.arraycopy(arguments, 0, given, 1, command);
        for (int i = command + 1; i < arguments.length; i++)
        {
            System.out.println("directory " + arguments[i]);
            given[0] = arguments[i];
            ArchiveTool.main(given);
        }
    }
}
