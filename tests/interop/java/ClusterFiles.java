package io.aeron.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Runs a script on the files of cluster members, with the official classes: {@code SCRIPT}.
 * <p>
 * Each line is a command. {@code tool NAME DIRECTORY} is one of ClusterTool's, whose status is printed where it has one. {@code log DIRECTORY} opens a recording log, which later
 * lines change or print. After the output of each line stands {@code == ok} or {@code == refused}.
 */
public final class ClusterFiles
{
    private RecordingLog log;

    public static void main(final String[] args) throws IOException
    {
        final ClusterFiles files = new ClusterFiles();
        final List<String> lines = Files.readAllLines(Path.of(args[0]));
        for (final String line : lines)
        {
            String outcome = "== ok";
            try
            {
                files.run(line.split(" "));
            }
            catch (final RuntimeException ex)
            {
                outcome = "== refused " + ex.getMessage();
            }
            System.out.println(outcome);
        }
    }

    private void run(final String[] words)
    {
        switch (words[0])
        {
            case "tool":
                tool(words);
                break;

            case "log":
                log = new RecordingLog(new File(words[1]), true);
                break;

            case "term":
                log.appendTerm(number(words[1]), number(words[2]), number(words[3]), number(words[4]));
                break;

            case "snapshot":
                log.appendSnapshot(
                    number(words[1]), number(words[2]), number(words[3]), number(words[4]), number(words[5]), (int)number(words[6]));
                break;

            case "standby":
                log.appendStandbySnapshot(
                    number(words[1]), number(words[2]), number(words[3]), number(words[4]), number(words[5]), (int)number(words[6]),
                    words[7]);
                break;

            case "commit":
                log.commitLogPosition(number(words[1]), number(words[2]));
                break;

            case "coherent":
                log.ensureCoherent(
                    number(words[1]), number(words[2]), number(words[3]), number(words[4]), number(words[5]), number(words[6]), 0,
                    number(words[7]), 1);
                break;

            case "invalidate":
                log.invalidateEntry((int)number(words[1]));
                log.reload();
                break;

            case "invalidate-latest":
                System.out.println(log.invalidateLatestSnapshot());
                log.reload();
                break;

            case "remove":
                log.removeEntry(number(words[1]), (int)number(words[2]));
                break;

            case "print":
                System.out.println(log);
                break;

            case "plan":
                System.out.println(log.createRecoveryPlan(null, (int)number(words[1]), -1));
                break;

            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void tool(final String[] words)
    {
        final File directory = new File(words[2]);
        switch (words[1])
        {
            case "describe":
                ClusterTool.describe(System.out, directory);
                break;

            case "pid":
                ClusterTool.pid(System.out, directory);
                break;

            case "recording-log":
                ClusterTool.recordingLog(System.out, directory);
                break;

            case "sort-recording-log":
                System.out.println(ClusterTool.sortRecordingLog(directory));
                break;

            case "seed-recording-log-from-snapshot":
                ClusterTool.seedRecordingLogFromSnapshot(directory);
                break;

            default:
                act(words[1], directory, words);
                break;
        }
    }

    private static void act(final String name, final File directory, final String[] words)
    {
        final ClusterToolCommand command = ClusterTool.commands().get(name);
        if (null == command)
        {
            throw new IllegalArgumentException(name);
        }
        final String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        arguments[0] = words[2];
        arguments[1] = name;
        System.out.println("status " + command.action().act(directory, System.out, arguments));
    }

    private static long number(final String word)
    {
        return Long.parseLong(word);
    }
}
