"""The value that each parser returns for a text, and the error message for invalid texts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from imprint.domain.rate_limits import Rate
from imprint.settings import parsers
from imprint.settings.declaration import InvalidSetting

PORT = parsers.integer(0, 65_535)
TIMEOUT = parsers.seconds(0.5, 60)
FORMAT = parsers.choice("json", "text")
AGE = parsers.automatic(parsers.seconds(0, 60))
NAMES = parsers.several(parsers.parse_text)
CHECKSUMMED = "0x5FbDB2315678afecb367f032d93F642f64180aa3"


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (AGE, "auto", None),
        (AGE, "AUTO", None),
        (AGE, "0", 0.0),
        (AGE, "12.5", 12.5),
        (parsers.parse_switch, "on", True),
        (parsers.parse_switch, "YES", True),
        (parsers.parse_switch, "1", True),
        (parsers.parse_switch, "Off", False),
        (parsers.parse_switch, "false", False),
        (parsers.parse_rate, "30/300", Rate(30, 300)),
        (parsers.parse_contract, CHECKSUMMED, CHECKSUMMED.lower()),
        (parsers.parse_host, "imprint.example", "imprint.example"),
        (parsers.parse_host, "::1", "::1"),
        (parsers.parse_rate, "1073741824/3600", Rate(1_073_741_824, 3600)),
        (parsers.parse_proxy, "10.0.0.1", "10.0.0.1"),
        (parsers.parse_proxy, "10.0.0.1/32", "10.0.0.1"),
        (parsers.parse_proxy, "10.0.0.0/8", "10.0.0.0/8"),
        (parsers.parse_proxy, "2001:DB8:0::1", "2001:db8::1"),
        (parsers.parse_proxy, "2001:db8::/32", "2001:db8::/32"),
        (parsers.parse_proxy, "fd00::/8", "fd00::/8"),
        (parsers.parse_proxy, "fe80::1%eth0", "fe80::1"),
        (parsers.parse_proxy, "::ffff:10.0.0.1", "10.0.0.1"),
        (parsers.parse_proxy, "::ffff:10.0.0.0/104", "10.0.0.0/8"),
        (parsers.parse_domain, "Example.org:3000", "example.org:3000"),
        (parsers.parse_domain, "Localhost:*", "localhost:*"),
        (parsers.parse_domain, "[::1]:*", "[::1]:*"),
        (parsers.parse_origin, "https://Example.org:81/", "https://example.org:81"),
        (parsers.parse_allowed_origin, "*", "*"),
        (parsers.parse_allowed_origin, "http://A.example", "http://a.example"),
        (parsers.parse_contact, "mailto:safety@example.org", "mailto:safety@example.org"),
        (parsers.parse_contact, "https://example.org/safety", "https://example.org/safety"),
        (PORT, "0", 0),
        (PORT, "65535", 65_535),
        (parsers.integer(-5, 5), "-5", -5),
        (TIMEOUT, "0.5", 0.5),
        (TIMEOUT, "60", 60.0),
        (FORMAT, "JSON", "json"),
    ],
)
def test_a_valid_text_is_parsed_to_its_value(
    parse: Callable[[str], object], text: str, value: object
):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parsers.parse_text, "", "must be text without control characters, and not empty"),
        (parsers.parse_text, "a\0b", "must be text without control characters, and not empty"),
        (parsers.parse_path, "a\nb", "must be text without control characters, and not empty"),
        (parsers.parse_switch, "enabled", "must be 'on' or 'off'"),
        (parsers.parse_rate, "30", "must be a count and a number of seconds, like 30/300"),
        (parsers.parse_rate, "30/0", "must be a count and a number of seconds, like 30/300"),
        (parsers.parse_contract, "0x" + "0" * 40, "must not be the zero address"),
        (parsers.parse_host, "-a.example", "must be a host name or an IP address"),
        (parsers.parse_proxy, "10.0.0.1/8", "names 10.0.0.1/8, which is an address inside"),
        (parsers.parse_proxy, "fd00::1/8", "names fd00::1/8, which is an address inside a"),
        (parsers.parse_proxy, "10.0.0.0/33", "must name IP addresses and networks"),
        (parsers.parse_proxy, "proxy.example", "must name IP addresses and networks"),
        (parsers.parse_url, "ftp://a", "must be a URL that begins with http:// or https://"),
        (parsers.parse_url, "https://é.example", "must be a URL that begins with http"),
        (parsers.parse_url, "https://a:99999", "has an invalid host or port"),
        (parsers.parse_url, "https://[::1", "has an invalid host or port"),
        (PORT, "65536", "must be a whole number from 0 to 65535"),
        (PORT, "-1", "must be a whole number from 0 to 65535"),
        (TIMEOUT, "0.4", "must be a number from 0.5 to 60"),
        (TIMEOUT, "60.1", "must be a number from 0.5 to 60"),
        (FORMAT, "xml", "must be one of: json, text"),
    ],
)
def test_an_invalid_text_is_refused_with_an_explanation(
    parse: Callable[[str], object], text: str, sentence: str
):
    with pytest.raises(InvalidSetting) as raised:
        parse(text)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("text", ["", " 1", "+1", "1.0", "1_0", "0x1", "1e1", "١", "0" * 31])
def test_a_whole_number_is_written_in_up_to_30_ascii_digits(text: str):
    with pytest.raises(InvalidSetting):
        parsers.integer(-(10**40), 10**40)(text)


@pytest.mark.parametrize("text", ["", ".5", "1.", "-0", "inf", "nan", "1e0", "1_0"])
def test_a_duration_is_written_as_a_plain_decimal(text: str):
    with pytest.raises(InvalidSetting):
        parsers.seconds(-1e40, 1e40)(text)


@pytest.mark.parametrize(
    "text", ["https://a", "a/b", "a?b", "a#b", "me@a", "a b", "", ":80", "a:port", "a:*"]
)
def test_a_domain_consists_only_of_a_host_and_a_port(text: str):
    with pytest.raises(InvalidSetting):
        parsers.parse_domain(text)


@pytest.mark.parametrize("after", ["/path", "/?query", "?query", "#fragment"])
def test_an_origin_with_a_path_query_or_fragment_is_refused(after: str):
    with pytest.raises(InvalidSetting, match="must be an origin"):
        parsers.parse_origin(f"https://example.org{after}")


def test_an_origin_with_a_user_name_is_refused():
    with pytest.raises(InvalidSetting, match="must be an origin"):
        parsers.parse_origin("https://me@example.org")


@pytest.mark.parametrize("char", [" ", "\t", "\n", "\r", "\0", "\u200b"])
@pytest.mark.parametrize("parse", [parsers.parse_url, parsers.parse_secret_url])
def test_a_url_with_spaces_or_control_characters_is_refused(
    parse: Callable[[str], object], char: str
):
    with pytest.raises(InvalidSetting, match="spaces or control characters"):
        parse(f"https://example{char}.org/key")


def test_a_secret_url_is_not_printed():
    url = parsers.parse_secret_url("https://node.example/v2/canary")
    assert url.reveal() == "https://node.example/v2/canary"
    assert "canary" not in f"{url} {url!r}"


def test_a_tilde_in_a_path_stands_for_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parsers.parse_path("~/data") == tmp_path / "data"


def test_lists_keep_their_order_and_drop_duplicates():
    assert NAMES("b, a ,b,c") == ("b", "a", "c")


def test_values_that_differ_only_in_spelling_are_duplicates():
    assert parsers.several(parsers.parse_domain)("A.example,a.example") == ("a.example",)


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_a_list_may_be_empty(text: str):
    assert NAMES(text) == ()


def test_a_list_with_one_invalid_value_is_refused():
    with pytest.raises(InvalidSetting):
        parsers.several(parsers.parse_proxy)("10.0.0.1,proxy.example")


def test_an_address_with_host_bits_is_refused_with_suggestions():
    with pytest.raises(InvalidSetting, match=r"write 10\.0\.0\.0/8 .* or 10\.0\.0\.1 for the one"):
        parsers.parse_proxy("10.0.0.1/8")


CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

on_linux = pytest.mark.skipif(not CPUS, reason="this system pins no process")


@pytest.mark.parametrize("text", ["auto", "AUTO"])
def test_the_value_auto_pins_no_cpu(text: str):
    assert parsers.parse_cpus(text) == ()


@on_linux
def test_cpu_lists_are_parsed_and_ranges_are_expanded():
    every = ",".join(map(str, CPUS))
    assert parsers.parse_cpus(every) == tuple(CPUS)
    assert parsers.parse_cpus(f"{CPUS[-1]}, {CPUS[0]} ,{CPUS[0]}")[0] == CPUS[-1]
    assert parsers.parse_cpus(f"{CPUS[0]}-{CPUS[0]}") == (CPUS[0],)
    if len(CPUS) > 1 and CPUS[1] == CPUS[0] + 1:
        assert parsers.parse_cpus(f"{CPUS[0]}-{CPUS[1]}") == (CPUS[0], CPUS[1])


@on_linux
def test_a_cpu_that_the_machine_does_not_have_is_refused():
    missing = max(CPUS) + 1
    with pytest.raises(InvalidSetting, match=f"names CPU {missing}, but this process may use only"):
        parsers.parse_cpus(f"{CPUS[0]},{missing}")


@pytest.mark.parametrize("text", ["", ",", "0,", "one", "1-0", "-1", "0--1", "0-1-2", "123456"])
def test_an_invalid_list_of_cpus_is_refused(text: str):
    with pytest.raises(InvalidSetting, match="must be auto, or CPU numbers"):
        parsers.parse_cpus(text)
