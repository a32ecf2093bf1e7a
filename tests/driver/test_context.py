"""The driver's options: where values come from, how they are read, and what is refused."""

from __future__ import annotations

import os
import pwd
import re
import typing
from pathlib import Path
from types import SimpleNamespace

import pytest

import aerowire.driver
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError, UnknownOptionError
from aerowire.base.options import parse_definitions
from aerowire.base.properties import read_properties
from aerowire.base.units import parse_duration_ns
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.context import _WITHOUT_EFFECT, Context, ThreadingMode
from aerowire.driver.media.loss_arguments import interceptor_arguments


def test_every_declared_attribute_is_an_option_of_its_kind() -> None:
    kinds = {"size": int, "duration_ns": int, "int": int, "bool": bool, "str": str, "enum": str, "double": float}
    for name, declared in typing.get_type_hints(Context).items():
        allowed = {kinds[OPTIONS[name].kind]}
        assert declared in allowed or declared == (int | None), name


def test_every_option_of_the_driver_is_resolved() -> None:
    names = {name for name, option in OPTIONS.items() if {"driver", "aerowire"} & set(option.scopes)}
    assert set(Context(environ={}).options) == names


def test_defaults_are_aerons() -> None:
    context = Context(environ={})
    assert (context.term_buffer_length, context.ipc_term_buffer_length, context.mtu_length) == (16 << 20, 64 << 20, 1408)
    assert (context.client_liveness_timeout_ns, context.timer_interval_ns) == (10_000_000_000, 1_000_000_000)
    assert (context.threading_mode, context.driver_resource_free_limit) == (ThreadingMode.DEDICATED, 1)
    assert context.receiver_group_tag is None
    assert context.untethered_linger_timeout_ns == -1


def test_the_directory_is_called_after_the_user_as_the_c_driver_finds_him(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "somebody-else")
    monkeypatch.setenv("USER", "me")
    assert default_aeron_dir().endswith("/aeron-me")
    monkeypatch.delenv("USER")
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_name="known"))
    assert default_aeron_dir().endswith("/aeron-known")


def test_a_user_whom_the_system_does_not_know_has_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)
    assert default_aeron_dir().endswith("/aeron-default")
    assert Context(environ={}).aeron_dir == default_aeron_dir()


def test_keyword_beats_property_beats_environment() -> None:
    environ = {"AERON_MTU_LENGTH": "4k", "AERON_TERM_BUFFER_LENGTH": "64k", "AERON_MAX_RESEND": "3"}
    context = Context(environ=environ, properties={"aeron.mtu.length": "8192", "aeron.max.resend": "4"}, max_resend=5)
    assert (context.term_buffer_length, context.mtu_length, context.max_resend) == (65536, 8192, 5)


def test_text_is_read_by_the_option_s_kind() -> None:
    context = Context(
        environ={}, image_liveness_timeout_ns="2s", term_buffer_length="128K", threading_mode="shared", reliable_stream="FALSE"
    )
    assert (context.image_liveness_timeout_ns, context.term_buffer_length) == (2_000_000_000, 131072)
    assert (context.threading_mode, context.reliable_stream) == (ThreadingMode.SHARED, False)


def test_a_bare_driver_timeout_is_in_milliseconds() -> None:
    assert Context(environ={}, properties={"aeron.driver.timeout": "2500"}).driver_timeout_ns == 2_500_000_000


@pytest.mark.parametrize("where", ["keyword", "property", "environment"])
def test_a_linger_of_an_untethered_subscriber_may_be_said_to_be_unset(where: str) -> None:
    name, option = "untethered_linger_timeout_ns", OPTIONS["untethered_linger_timeout_ns"]
    if where == "keyword":
        context = Context(environ={}, **{name: -1})  # type: ignore[arg-type]
    else:
        context = Context(
            environ={option.env: "-1"} if where == "environment" else {}, properties={option.property: "-1"} if where == "property" else {}
        )
    assert context.untethered_linger_timeout_ns == Context(environ={}).untethered_linger_timeout_ns == -1
    assert Context(environ={}, properties=context.to_properties()).untethered_linger_timeout_ns == -1


@pytest.mark.parametrize("value", [-2, 0, "1s"])
def test_a_linger_of_an_untethered_subscriber_is_longer_than_the_timer_s_interval(value: int | str) -> None:
    with pytest.raises(ConfigurationError, match=r"aeron\.untethered\.linger\.timeout is (out of range|too short)"):
        Context(environ={}, untethered_linger_timeout_ns=value)


def test_another_process_gets_the_same_options_by_properties() -> None:
    context = Context(
        environ={},
        aeron_dir="/tmp/x",
        driver_timeout_ns="3s",
        term_buffer_length="64k",
        reliable_stream=False,
        untethered_linger_timeout_ns="7s",
    )
    copy = Context(environ={}, properties=context.to_properties())
    assert copy.options == context.options
    assert copy.aeron_dir == "/tmp/x"


@pytest.mark.parametrize(
    ("options", "where", "part"),
    [
        ({"term_buffer_length": "100k"}, "aeron.term.buffer.length", "power of two"),
        ({"term_buffer_length": "32k"}, "aeron.term.buffer.length", "out of range"),
        ({"ipc_term_buffer_length": 2 << 30}, "aeron.ipc.term.buffer.length", "out of range"),
        ({"mtu_length": 1400}, "aeron.mtu.length", "not aligned"),
        ({"mtu_length": 65536}, "aeron.mtu.length", "out of range"),
        ({"rcv_initial_window_length": 1024}, "aeron.mtu.length", "longer than the initial window"),
        ({"file_page_size": 5000}, "aeron.file.page.size", "power of two"),
        ({"conductor_buffer_length": "1m"}, "aeron.conductor.buffer.length", "out of range"),
        ({"conductor_buffer_length": "2m"}, "aeron.conductor.buffer.length", "no usable capacity"),
        ({"counters_buffer_length": 1}, "aeron.counters.buffer.length", "out of range"),
        ({"counters_buffer_length": "500m"}, "aeron.counters.buffer.length", "longer, with these buffers, than"),
        ({"nak_unicast_retry_delay_ratio": 2**31 - 1, "nak_unicast_delay_ns": "10s"}, "aeron.nak.unicast.retry.delay.ratio", "too long"),
        ({"client_liveness_timeout_ns": "20s"}, "aeron.publication.unblock.timeout", "too short"),
        ({"client_liveness_timeout_ns": "1s"}, "aeron.client.liveness.timeout", "too short"),
        ({"max_resend": 257}, "aeron.max.resend", "out of range"),
        ({"max_resend": "x"}, "max_resend", "not an integer"),
        ({"threading_mode": "MANY"}, "threading_mode", "unknown value"),
        ({"timer_interval_ns": "1 hour"}, "timer_interval_ns", "not a duration"),
        ({"reliable_stream": 3}, "reliable_stream", "wrong type"),
        ({"mtu_length": True}, "mtu_length", "wrong type"),
        ({"sender_wildcard_port_range": "9 1"}, "aeron.sender.wildcard.port.range", "port range is malformed"),
        ({"publication_reserved_session_id_low": 2000}, "aeron.publication.reserved.session.id.low", "impossible"),
        ({"driver_termination_validator": "com.acme.Mine"}, "aeron.driver.termination.validator", "not one of"),
        ({"congestion_control_supplier": "com.acme.Mine"}, "aeron.CongestionControl.supplier", "not one of"),
        ({"driver_resolver_interface": "127.0.0.1:0"}, "aeron.driver.resolver.name", "needs a name and an interface"),
        ({"name_resolver_supplier": "driver", "driver_resolver_name": "me"}, "aeron.driver.resolver.interface", "needs a name"),
        ({"driver_resolver_name": "n" * 513, "driver_resolver_interface": "127.0.0.1:0"}, "aeron.driver.resolver.name", "does not fit"),
        ({"driver_resolver_bootstrap_neighbor": "a:1," * 21}, "aeron.driver.resolver.bootstrap.neighbor", "too many"),
        ({"image_liveness_timeout_ns": "-1s"}, "aeron.image.liveness.timeout", "out of range"),
        ({"low_file_store_warning_threshold": -1}, "aeron.low.file.store.warning.threshold", "out of range"),
        ({"sender_io_vector_capacity": 17}, "aeron.sender.io.vector.capacity", "out of range"),
        ({"receiver_io_vector_capacity": 0}, "aeron.receiver.io.vector.capacity", "out of range"),
        ({"network_publication_max_messages_per_send": 17}, "aeron.network.publication.max.messages.per.send", "out of range"),
        ({"send_to_status_poll_ratio": 0}, "aeron.send.to.status.poll.ratio", "out of range"),
        ({"driver_stream_session_limit": 0}, "aeron.driver.stream.session.limit", "out of range"),
        ({"debug_send_data_loss_rate": 1.5}, "aeron.debug.send.data.loss.rate", "out of range"),
    ],
)
def test_refuses_a_value_and_names_the_option(options: dict[str, object], where: str, part: str) -> None:
    with pytest.raises(ConfigurationError, match=part) as caught:
        Context(environ={}, **options)  # type: ignore[arg-type]
    assert caught.value.where in {where, OPTIONS[where].property if where in OPTIONS else where}
    assert caught.value.expected is not None
    assert caught.value.actual is not None


def test_another_process_is_told_what_its_environment_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AERON_MTU_LENGTH", "8192")
    context = Context(environ={}, max_resend=OPTIONS["max_resend"].default)
    assert context.to_properties()["aeron.mtu.length"] == str(OPTIONS["mtu_length"].default)
    assert context.to_properties()["aeron.max.resend"] == str(OPTIONS["max_resend"].default)
    assert Context(properties=context.to_properties()).mtu_length == context.mtu_length == 1408


def test_options_that_decide_nothing_are_named_with_the_reason() -> None:
    context = Context(environ={}, use_windows_high_res_timer=True, enable_experimental_features=False, mtu_length=1408)
    (only,) = context.options_without_effect()
    assert only == f"{OPTIONS['use_windows_high_res_timer'].property}: it is for Windows"


def test_threads_of_several_agents_run_where_the_official_driver_puts_them() -> None:
    context = Context(environ={}, conductor_cpu_affinity=1, sender_cpu_affinity=2, driver_native_resource_agent_cpu_affinity=3)
    roles = ("conductor", "shared", "sender", "sharednetwork", "receiver", "commands")
    assert [context.cpu_affinity(role) for role in roles] == [1, 1, 2, 2, None, 3]


def test_names_an_unknown_option_and_the_nearest_one() -> None:
    with pytest.raises(UnknownOptionError, match="did you mean 'mtu_length'"):
        Context(environ={}, mtu_lenght=1)
    with pytest.raises(UnknownOptionError, match=r"did you mean 'aeron\.mtu\.length'"):
        Context(environ={}, properties={"aeron.mtu.lenght": "1"})


def test_properties_of_other_components_are_left_to_them() -> None:
    others = {"aeron.archive.dir": "x", "aeron.fallback.logger": "stderr", "java.io.tmpdir": "/tmp", "some.other": "1"}
    assert Context(environ={}, properties=others).mtu_length == 1408


def test_events_of_other_components_are_left_to_them() -> None:
    names = [f"aeron.event.{component}.log{end}" for component in ("archive", "cluster") for end in ("", ".disable")]
    assert Context(environ={}, properties=dict.fromkeys(names, "all")).event_codes == frozenset()


@pytest.mark.parametrize(
    ("name", "meant"), [("aeron.event.logs", "log"), ("aeron.event.log.file", "log.filename"), ("aeron.event.cluster.logs", "")]
)
def test_a_property_of_events_that_nobody_has_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(UnknownOptionError, match=f"there is no such option.*{name}.*did you mean 'aeron.event.{meant}"):
        Context(environ={}, properties={name: "admin"})


def test_what_only_the_official_event_log_has_is_named() -> None:
    properties = {
        "aeron.event.log.filename": "x",
        "aeron.event.log.file.max.length": "1m",
        "aeron.event.log.reader.classname": "com.acme.Reader",
        "aeron.event.log.render.data": "true",
        "aeron.event.log.throw.exceptions": "true",
    }
    told = Context(environ={}, properties=properties).options_without_effect()
    assert [text.partition(":")[0] for text in told] == list(properties)


def test_what_the_command_line_defines_is_an_option_or_java_s() -> None:
    given = ["agrona.disable.bounds.checks=true", "aeron.sample.messages=10", "aeron.mtu.length=4k"]
    assert parse_definitions(given) == {"agrona.disable.bounds.checks": "true", "aeron.sample.messages": "10", "aeron.mtu.length": "4k"}
    with pytest.raises(UnknownOptionError, match=r"did you mean 'aeron\.mtu\.length'"):
        parse_definitions(["mtu.length=4k"])


def test_environment_variables_that_no_option_has_are_somebody_else_s() -> None:
    assert Context(environ={"AERON_NO_SUCH": "1", "AERON_MTU_LENGTH": "4k"}).mtu_length == 4096


def test_reads_java_properties_files(tmp_path: Path) -> None:
    path = tmp_path / "driver.properties"
    path.write_text("# comment\n! too\naeron.mtu.length = 4k\naeron.term.buffer.length: 64\\\n   k\naeron.dir=/dev/shm/a\\u0041\n\nflag\n")
    assert read_properties(path) == {
        "aeron.mtu.length": "4k",
        "aeron.term.buffer.length": "64k",
        "aeron.dir": "/dev/shm/aA",
        "flag": "",
    }


def test_only_java_s_ends_of_lines_and_spaces_divide_properties(tmp_path: Path) -> None:
    path = tmp_path / "driver.properties"
    path.write_bytes("# Å aeron.mtu.length=1k\na=à\r\nb\f=\fx\x1c\rc=1\\\r\n  2\\\n\n".encode())
    assert read_properties(path) == {"a": "Ã\xa0", "b": "x\x1c", "c": "12"}


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u", "a=\\uzzzz", "\\u 123=1", "a=\\u1_23", "a=\\u+123"])
def test_an_escape_that_is_cut_short_names_its_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "driver.properties"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"escape.*malformed; at .*driver\.properties; expected four hexadecimal digits"):
        read_properties(path)


def test_a_device_without_an_end_is_no_properties_file() -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read; at /dev/zero; .*more than 16777216 bytes"):
        read_properties("/dev/zero")


def test_a_name_that_no_file_has_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read.*null"):
        read_properties("a\0b")


def test_a_missing_properties_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_properties(tmp_path / "none")


@pytest.mark.parametrize(("text", "value"), [("1", True), ("on", True), ("TRUE", True), ("0", False), ("off", False), ("False", False)])
def test_booleans_of_the_environment_may_be_written_as_for_the_c_driver(text: str, value: bool) -> None:
    assert Context(environ={"AERON_DIR_DELETE_ON_START": text}).dir_delete_on_start is value


def test_what_only_the_c_driver_does_is_named() -> None:
    told = Context(
        environ={"AERON_UDP_CHANNEL_OUTGOING_INTERCEPTORS": "loss", "AERON_NAME_RESOLVER_INIT_ARGS": "x"}
    ).options_without_effect()
    assert [text.partition(":")[0] for text in told] == ["aeron.name.resolver.init.args", "aeron.udp.channel.outgoing.interceptors"]


_INTERCEPTORS = "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS"
_ARGUMENTS = "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({_INTERCEPTORS: "lossy"}, "no interceptor has this name.*aeron.udp.channel.incoming.interceptors.*'lossy'"),
        ({_INTERCEPTORS: ",".join(["loss"] * 11)}, "too many interceptors.*at most 10; got 11"),
        ({_INTERCEPTORS: "multi-gap-loss"}, "the gaps have no distance.*gap-radix=BYTES"),
        ({_INTERCEPTORS: "multi-gap-loss", f"{_ARGUMENTS}MULTI_GAP_LOSS_ARGS": "gap-radix=0"}, "cannot be read.*'gap-radix=0'"),
        ({_INTERCEPTORS: "fixed-loss", f"{_ARGUMENTS}FIXED_LOSS_ARGS": "term-id=x"}, "fixed-loss cannot be read.*'term-id=x'"),
        ({_INTERCEPTORS: "fixed-loss", f"{_ARGUMENTS}FIXED_LOSS_ARGS": "length=-1"}, "cannot be read.*'length=-1'"),
        ({_INTERCEPTORS: "loss", f"{_ARGUMENTS}LOSS_ARGS": "rate="}, "cannot be read.*'rate='"),
    ],
)
def test_interceptors_that_cannot_be_are_refused(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Context(environ=environ)


def test_the_arguments_of_interceptors_are_read() -> None:
    environ = {
        _INTERCEPTORS: "loss, fixed-loss,multi-gap-loss",
        f"{_ARGUMENTS}LOSS_ARGS": "rate=0.25|seed=5|recv-msg-mask=0xA|other=9",
        f"{_ARGUMENTS}FIXED_LOSS_ARGS": "term-id=-3|term-offset=64|length=128",
        f"{_ARGUMENTS}MULTI_GAP_LOSS_ARGS": "term-id=1|gap-radix=4096|gap-length=32|total-gaps=2",
    }
    assert interceptor_arguments(Context(environ=environ).options) == [
        ("multi-gap-loss", {"term_id": 1, "gap_radix": 4096, "gap_length": 32, "total_gaps": 2}),
        ("fixed-loss", {"term_id": -3, "term_offset": 64, "length": 128}),
        ("loss", {"rate": 0.25, "seed": 5, "types": 10}),
    ]


# What the official drivers have under a name, of the Java driver's classes and the C driver's tables of short names and symbols.
_FLOW_CONTROLS = """io.aeron.driver.UnicastFlowControl io.aeron.driver.MaxMulticastFlowControl io.aeron.driver.MinMulticastFlowControl
io.aeron.driver.TaggedMulticastFlowControl io.aeron.driver.PreferredMulticastFlowControl
unicast_max multicast_max multicast_min multicast_tagged aeron_unicast_flow_control_strategy_supplier
aeron_max_multicast_flow_control_strategy_supplier
aeron_min_flow_control_strategy_supplier
aeron_tagged_flow_control_strategy_supplier"""
_FLOW_CONTROL_SUPPLIERS = """io.aeron.driver.MaxMulticastFlowControlSupplier io.aeron.driver.MinMulticastFlowControlSupplier
io.aeron.driver.TaggedMulticastFlowControlSupplier io.aeron.driver.PreferredMulticastFlowControlSupplier"""
_OFFICIAL_NAMES = {
    "AERON_CONGESTIONCONTROL_SUPPLIER": """default static cubic aeron_congestion_control_default_strategy_supplier
aeron_static_window_congestion_control_strategy_supplier aeron_cubic_congestion_control_strategy_supplier
io.aeron.driver.DefaultCongestionControlSupplier io.aeron.driver.ext.CubicCongestionControlSupplier""",
    "AERON_UNICAST_FLOWCONTROL_SUPPLIER": f"io.aeron.driver.DefaultUnicastFlowControlSupplier {_FLOW_CONTROLS} {_FLOW_CONTROL_SUPPLIERS}",
    "AERON_MULTICAST_FLOWCONTROL_SUPPLIER": f"""io.aeron.driver.DefaultMulticastFlowControlSupplier {_FLOW_CONTROLS}
{_FLOW_CONTROL_SUPPLIERS}""",
    "AERON_UNICAST_FLOW_CONTROL_STRATEGY": _FLOW_CONTROLS,
    "AERON_MULTICAST_FLOW_CONTROL_STRATEGY": _FLOW_CONTROLS,
    "AERON_DRIVER_TERMINATION_VALIDATOR": """allow deny aeron_driver_termination_validator_default_allow
aeron_driver_termination_validator_default_deny io.aeron.driver.DefaultAllowTerminationValidator
io.aeron.driver.DefaultDenyTerminationValidator""",
    "AERON_NAME_RESOLVER_SUPPLIER": """default driver csv_table aeron_default_name_resolver_supplier
aeron_driver_name_resolver_supplier aeron_csv_table_name_resolver_supplier""",
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": """loss fixed-loss multi-gap-loss aeron_udp_channel_interceptor_loss_load
aeron_udp_channel_interceptor_fixed_loss_load aeron_udp_channel_interceptor_multi_gap_loss_load""",
    "AERON_SENDCHANNELENDPOINT_SUPPLIER": """io.aeron.driver.DefaultSendChannelEndpointSupplier
io.aeron.driver.ext.DebugSendChannelEndpointSupplier""",
    "AERON_RECEIVECHANNELENDPOINT_SUPPLIER": """io.aeron.driver.DefaultReceiveChannelEndpointSupplier
io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier""",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MEDIA": "default aeron_udp_channel_transport_bindings_default",
}
# What some of them need besides.
_WITH = {
    "AERON_DRIVER_RESOLVER_NAME": "me",
    "AERON_DRIVER_RESOLVER_INTERFACE": "127.0.0.1:0",
    "AERON_NAME_RESOLVER_INIT_ARGS": "a,b,c",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MULTI_GAP_LOSS_ARGS": "gap-radix=4096",
}


@pytest.mark.parametrize(("variable", "name"), [(variable, name) for variable, names in _OFFICIAL_NAMES.items() for name in names.split()])
def test_everything_goes_by_each_of_its_official_names(variable: str, name: str) -> None:
    assert name in Context(environ={**_WITH, variable: name}).options.values()


def test_a_symbol_stands_for_the_same_as_the_short_name() -> None:
    for name in ("loss", "aeron_udp_channel_interceptor_loss_load"):
        context = Context(environ={_INTERCEPTORS: name, f"{_ARGUMENTS}LOSS_ARGS": "rate=0.5"})
        assert interceptor_arguments(context.options) == [("loss", {"rate": 0.5})]
    for name, is_allowed in (("allow", True), ("aeron_driver_termination_validator_default_allow", True), ("deny", False)):
        assert Context(environ={"AERON_DRIVER_TERMINATION_VALIDATOR": name}).allows_termination(b"") is is_allowed
    with pytest.raises(ConfigurationError, match="needs a name"):
        Context(environ={"AERON_NAME_RESOLVER_SUPPLIER": "aeron_driver_name_resolver_supplier"})


@pytest.mark.parametrize("text", ["10-20-1us-1ms", "10,20,1us,1ms", "10 20 1000 1000000"])
def test_the_arguments_of_an_idle_strategy_may_stand_as_for_the_c_driver(text: str) -> None:
    name, arguments = Context(environ={"AERON_SENDER_IDLE_STRATEGY_INIT_ARGS": text}).idle_strategy("sender")
    assert name == "backoff"
    assert [int(a) if a.isdecimal() else parse_duration_ns("", a) for a in arguments] == [10, 20, 1_000, 1_000_000]


def test_every_option_of_the_driver_is_read_by_somebody_or_named_as_without_effect() -> None:
    package = Path(aerowire.driver.__file__).parent
    # Its own annotations and its list of options without effect read nothing.
    sources = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "context.py")
    sources += "".join(line for line in (package / "context.py").read_text().splitlines() if "_values[" in line or "self." in line)
    sources += (package.parent / "tools" / "driver" / "driver.py").read_text()
    named = {name for names in _WITHOUT_EFFECT.values() for name in names}
    # Read by names that are put together.
    families = ("_idle_strategy", "_idle_strategy_init_args", "_cpu_affinity", "_flow_control_supplier", "_flow_control_strategy")
    unread = [
        name
        for name, option in OPTIONS.items()
        if "driver" in option.scopes
        and name not in named
        and not name.endswith(families)
        and not name.startswith("debug_")
        and not re.search(rf"\b{name}\b", sources)
    ]
    assert unread == []


def test_a_first_round_trip_of_more_than_a_minute_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"first round trip.*aeron\.CubicCongestionControl\.initialRtt.*expected 0 to 60 s"):
        Context(environ={}, cubic_congestion_control_initial_rtt_ns="61s")
    assert Context(environ={}, cubic_congestion_control_initial_rtt_ns="60s").cubic_congestion_control_initial_rtt_ns == 60_000_000_000
