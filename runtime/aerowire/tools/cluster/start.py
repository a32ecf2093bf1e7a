"""`aerowire cluster start`: runs a member of a cluster until a signal, or a shutdown of the cluster."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerowire.tools.arguments import IDLE_HELP, add_directory_arguments, option_text, properties_of

if TYPE_CHECKING:
    from aerowire.cluster.consensus.members import ClusterMember
    from aerowire.tools.cluster.running_member import RunningMember

_NODE = "node"
_THREADING = ("dedicated", "shared", _NODE)
_IDLE_ROLES = ("sender", "receiver", "conductor", "sharednetwork", "shared")
# How late the end of the member, and a change of its role, are noticed.
_WAIT_S: Final = 0.2

EXAMPLES = """\
Examples:
  aerowire cluster start --member-id 0 --members "$MEMBERS" --service counter:Counter --node-dir node0
  aerowire cluster start --member-id 0 --members "$MEMBERS" --service counter:Counter --attach --dir /dev/shm/aeron-me
  aerowire cluster start --member-id 1 --members "$MEMBERS" --service a:First --service b:Second -Daeron.cluster.session.timeout=5s

MEMBERS lists all members, and is the same text for each of them: id,ingress,consensus,log,catchup,archive|...
  MEMBERS="0,host0:9000,host0:9001,host0:9002,host0:9003,host0:9004|1,host1:9000,..."

A media driver and an archive run in the same process; with --attach they are those that run at --dir already. MODULE is looked for in the
current directory, too. Without --service as many services as aeron.cluster.service.count says are to be started elsewhere. Options are
Aeron's: properties of driver, archive and cluster from files, or http:, https: and file: URLs, then -D, which is stronger; for what
neither says the environment (aeron.cluster.members is AERON_CLUSTER_MEMBERS), then the default. --options lists those of the cluster.

A member that is not part of a majority waits for others; each change of its role is shown. `aerowire cluster shutdown` ends
a whole cluster with a snapshot, Ctrl-C this member alone.

Exit codes: 0 ended by Ctrl-C, SIGTERM, or a shutdown or abort of the cluster; 1 it could not go on; 2 usage, or it cannot start.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `cluster start` subcommand."""
    parser = subparsers.add_parser(
        "cluster start",
        help="run a member of a cluster with its services",
        description="Run a member of a cluster until Ctrl-C or SIGTERM: media driver, archive, consensus module and services.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_directory_arguments(parser, otherwise="the user's in shared memory, with -MEMBER behind its name unless --attach is given")
    parser.add_argument(
        "properties_files", metavar="PROPERTIES_FILE", nargs="*", help="files or URLs of aeron.* properties; later ones win"
    )
    parser.add_argument("--member-id", metavar="ID", type=int, help="which of the members this one is (default: 0)")
    parser.add_argument("--members", metavar="MEMBERS", help="all members and their endpoints")
    parser.add_argument(
        "--service", dest="services", metavar="MODULE:CLASS", action="append", default=[], help="a service to run; more get the next ids"
    )
    parser.add_argument("--extension", metavar="MODULE:CLASS", help="an extension of the consensus module, in place of services")
    parser.add_argument("--node-dir", metavar="DIR", help="keep the member's files in DIR/cluster and DIR/archive")
    parser.add_argument("--attach", action="store_true", help="use the media driver of --dir and its archive, which run already")
    parser.add_argument(
        "--threading",
        choices=_THREADING,
        type=str.lower,
        help="threads of native agents: dedicated, shared by those of a part, or one of the node",
    )
    parser.add_argument("--idle", metavar="NAME", help=f"idle strategy of every agent: {IDLE_HELP}")
    parser.add_argument("--options", action="store_true", help="list all options of the cluster with their defaults, and end")
    parser.set_defaults(run=run, is_endless=lambda _arguments: True)


def run(arguments: argparse.Namespace) -> int:
    """Run a member; returns 0 when it was ended in order, 1 when it could not go on."""
    from aerowire.tools.exit_codes import DONE, USAGE

    if arguments.options:
        _print_options()
        return DONE
    from aerowire.system.bus_error import explain_bus_errors, survive_bus_errors
    from aerowire.tools.cluster.running_member import import_from_here, load_services, start_member
    from aerowire.tools.directory_command import show
    from aerowire.tools.stopping import StopPipe, is_stopped

    survive_bus_errors()
    explain_bus_errors(USAGE)
    # Files that may be pipes come first, while a signal still ends the command at once.
    properties = _properties(arguments)
    if arguments.services or arguments.extension is not None:
        import_from_here()
    services = load_services(arguments.services)
    # BEFORE the member starts: a process that sees it may signal it at once.
    stop = StopPipe()
    with start_member(properties, services, is_attached=arguments.attach, one_thread=arguments.threading == _NODE) as member:
        # Modules and options stay until the end: later collections need not look at them again.
        gc.collect()
        gc.freeze()
        _show_parts(member, arguments.services, arguments.extension)
        stands = ""
        while not is_stopped([stop.reader], _WAIT_S) and not member.has_ended:
            if member.standing != stands:
                stands = member.standing
                show(f"aerowire cluster: member {member.member_id} {stands}")
        has_ended = member.has_ended
    return _tell_end(member) if has_ended else DONE


def _tell_end(member: RunningMember) -> int:
    """Show why a member has ended by itself; return the exit code."""
    from aerowire.tools.cluster.cluster_command import tell
    from aerowire.tools.directory_command import show
    from aerowire.tools.exit_codes import DONE, FINDING

    reason = member.failure()
    if reason is None:
        show(f"aerowire cluster: member {member.member_id} has ended with its cluster")
        return DONE
    tell(f"member {member.member_id} could not go on: {reason}; more is told by: aerowire cluster errors {member.cluster_dir}")
    return FINDING


def _show_parts(member: RunningMember, services: list[str], extension: str | None) -> None:
    """Show what runs, and where."""
    from aerowire.base.text import printable
    from aerowire.tools.directory_command import show

    lines = [f"aerowire cluster: pid {os.getpid()}, member {member.member_id} of {member.member_count}, cluster {member.cluster_id}"]
    lines += [f"  {name:<17} {where}" for name, where in member.parts()]
    lines += [f"  {f'service {service_id}':<17} {name}" for service_id, name in enumerate(services)]
    if extension is not None:
        lines.append(f"  {'extension':<17} {extension}")
    show("\n".join(map(printable, lines)))


def _print_options() -> None:
    from aerowire.codecs.tables.cluster_options import OPTIONS
    from aerowire.tools.option_listing import print_options

    print_options(OPTIONS, "consensus-module")
    # Options of services only.
    print_options({name: one for name, one in OPTIONS.items() if "consensus-module" not in one.scopes}, "cluster-service")


def _properties(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the properties of all parts: the given ones, and those that follow from the member's endpoints."""
    from aerowire.codecs.tables.archive_options import OPTIONS as ARCHIVE
    from aerowire.codecs.tables.cluster_options import OPTIONS as CLUSTER
    from aerowire.codecs.tables.options import OPTIONS as DRIVER

    properties = properties_of(arguments, arguments.properties_files)
    given: dict[Any, str | None] = {
        CLUSTER["cluster_member_id"]: None if arguments.member_id is None else str(arguments.member_id),
        CLUSTER["cluster_members"]: arguments.members,
        CLUSTER["cluster_dir"]: None if arguments.node_dir is None else str(Path(arguments.node_dir, "cluster")),
        CLUSTER["consensus_module_extension"]: arguments.extension,
        CLUSTER["idle_strategy"]: arguments.idle,
        ARCHIVE["archive_dir"]: None if arguments.node_dir is None else str(Path(arguments.node_dir, "archive")),
        ARCHIVE["idle_strategy"]: arguments.idle,
        ARCHIVE["recorder_idle_strategy"]: arguments.idle,
        ARCHIVE["replayer_idle_strategy"]: arguments.idle,
        **{DRIVER[f"{role}_idle_strategy"]: arguments.idle for role in _IDLE_ROLES},
    }
    if arguments.threading is not None:
        mode = "SHARED" if arguments.threading == _NODE else arguments.threading.upper()
        given |= {DRIVER["threading_mode"]: mode, ARCHIVE["threading_mode"]: mode}
    if arguments.services or arguments.extension is not None:
        given[CLUSTER["service_count"]] = str(len(arguments.services))
    properties |= {option.property: value for option, value in given.items() if value is not None}
    member = _own_member(properties)
    for option, value in _defaults(member, is_attached=arguments.attach).items():
        if value is not None and option_text(properties, option) is None:
            properties[option.property] = value
    return properties


def _own_member(properties: Mapping[str, str]) -> ClusterMember:
    from aerowire.base.errors import ConfigurationError
    from aerowire.cluster.consensus.members import parse_members
    from aerowire.codecs.tables.cluster_options import OPTIONS

    form = "id,ingress,consensus,log,catchup,archive|..."
    members = parse_members(option_text(properties, OPTIONS["cluster_members"]) or "")
    if not members:
        hint = "a cluster of one on this machine: 0,localhost:9000,localhost:9001,localhost:9002,localhost:9003,localhost:9004"
        raise ConfigurationError("the members of the cluster are not told", where="--members", expected=form, actual="none", hint=hint)
    told = option_text(properties, OPTIONS["cluster_member_id"]) or "0"
    found = next((one for one in members if str(one.member_id) == told), None)
    if found is None:
        ids = ", ".join(str(one.member_id) for one in members)
        raise ConfigurationError("this member is none of the members", where="--member-id", expected=f"one of {ids}", actual=told)
    return found


def _defaults(member: ClusterMember, *, is_attached: bool) -> dict[Any, str | None]:
    """Return the values of options that follow from the endpoints of a member, unless they are given."""
    from aerowire.base.directory import default_aeron_dir
    from aerowire.codecs.tables.archive_options import OPTIONS as ARCHIVE
    from aerowire.codecs.tables.cluster_options import OPTIONS as CLUSTER
    from aerowire.codecs.tables.options import OPTIONS as DRIVER

    any_port = f"aeron:udp?endpoint={member.archive_endpoint.rpartition(':')[0]}:0"
    shared: dict[Any, str | None] = {CLUSTER["ingress_channel"]: "aeron:udp", CLUSTER["replication_channel"]: any_port}
    if is_attached:
        return shared
    return shared | {
        DRIVER["dir"]: f"{default_aeron_dir()}-{member.member_id}",
        ARCHIVE["control_channel"]: f"aeron:udp?endpoint={member.archive_endpoint}",
        ARCHIVE["replication_channel"]: any_port,
    }
