"""Notifications sent to systemd, received on a socket like systemd's."""

import os
import socket
from pathlib import Path

from imprint.server.supervisor import ServiceNotifier


def _listen(folder: Path) -> socket.socket:
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(folder / "notify"))
    receiver.settimeout(5)
    return receiver


def _lines(receiver: socket.socket) -> list[str]:
    return receiver.recv(4096).decode().split("\n")


def test_every_state_is_reported_to_systemd(tmp_path: Path):
    with _listen(tmp_path) as receiver:
        notifier = ServiceNotifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        notifier.ready("serving")
        assert _lines(receiver) == ["READY=1", f"MAINPID={os.getpid()}", "STATUS=serving"]
        notifier.reloading()
        first, second, _ = _lines(receiver)
        assert first == "RELOADING=1"
        assert second.removeprefix("MONOTONIC_USEC=").isdecimal()
        notifier.stopping()
        assert _lines(receiver)[0] == "STOPPING=1"


def test_an_abstract_socket_name_is_supported():
    name = f"imprint-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{name}")
        receiver.settimeout(5)
        ServiceNotifier({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert _lines(receiver)[0] == "STOPPING=1"


def test_the_watchdog_is_notified_at_half_its_interval(tmp_path: Path):
    with _listen(tmp_path) as receiver:
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "60000000"}
        notifier = ServiceNotifier(environ)
        notifier.sign_of_life()
        assert _lines(receiver) == ["WATCHDOG=1"]
        first = notifier.due
        assert first is not None
        # Not yet again.
        notifier.sign_of_life()
        assert notifier.due == first


def test_a_watchdog_for_another_process_is_ignored(tmp_path: Path):
    environ = {"NOTIFY_SOCKET": str(tmp_path), "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    assert ServiceNotifier(environ).due is None


def test_notifications_do_nothing_without_a_service_manager(tmp_path: Path):
    for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "nobody")}, {"WATCHDOG_USEC": "1000"}):
        notifier = ServiceNotifier(environ)
        notifier.ready("serving")
        notifier.sign_of_life()
    assert ServiceNotifier({}).due is None
