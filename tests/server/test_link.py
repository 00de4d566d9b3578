"""The link between a worker and its supervisor: messages are complete, ordered and bounded."""

import asyncio
import os
import select
import signal
import socket
import struct
import threading

import pytest

from imprint.server.link import MAX_MESSAGE_BYTES, Kind, Link, WorkerLink, open_link


@pytest.fixture
def ends():
    supervisor, theirs = open_link()
    yield supervisor, theirs
    supervisor.close()
    theirs.close()


def wait(supervisor: WorkerLink) -> list[tuple[Kind, bytes]]:
    """Wait for the next messages."""
    assert select.select([supervisor], [], [], 10)[0]
    return [*supervisor.read()]


def read(supervisor: WorkerLink) -> list[tuple[Kind, bytes]]:
    return [*supervisor.read()]


def test_messages_arrive_complete_and_in_order(ends):
    supervisor, theirs = ends
    link = Link(theirs, collect=lambda: b"x" * 100_000)
    link.report_waiting()
    link.report_samples()
    link.report_failure("It is so.")
    link.report_ready()
    assert read(supervisor) == [
        (Kind.WAITING, b""),
        (Kind.SAMPLES, b"x" * 100_000),
        (Kind.FAILED, b"It is so."),
        (Kind.READY, b""),
    ]


def test_a_message_in_pieces_is_read_when_it_is_complete(ends):
    supervisor, theirs = ends
    sent = struct.pack("!Ic", 3, b"f") + b"why" + struct.pack("!Ic", 0, b"r")
    found = []
    for byte in sent:
        theirs.send(bytes([byte]))
        found += read(supervisor)
    assert found == [(Kind.FAILED, b"why"), (Kind.READY, b"")]


def test_a_message_that_is_too_long_is_rejected(ends):
    supervisor, theirs = ends
    theirs.send(struct.pack("!Ic", MAX_MESSAGE_BYTES + 1, b"m"))
    assert read(supervisor) == []
    assert not supervisor.is_open


def test_a_closed_link_is_detected_after_its_last_message(ends):
    supervisor, theirs = ends
    Link(theirs).report_ready()
    theirs.close()
    assert read(supervisor) == [(Kind.READY, b"")]
    assert not supervisor.is_open


async def test_an_ungated_worker_serves_immediately(ends):
    await Link(ends[1]).wait_for_permission()
    assert read(ends[0]) == []


@pytest.mark.parametrize("early", [True, False])
async def test_a_gated_worker_waits_for_permission_to_serve(ends, early):
    supervisor, theirs = ends
    link = Link(theirs, is_gated=True)
    listening = threading.Thread(target=link.listen)
    listening.start()
    if early:
        supervisor.permit()
    waiting = asyncio.create_task(link.wait_for_permission())
    found = await asyncio.to_thread(wait, supervisor)
    assert found == [(Kind.PREPARED, b"")]
    if not early:
        assert not waiting.done()
        supervisor.permit()
    async with asyncio.timeout(10):
        await waiting
    theirs.shutdown(socket.SHUT_RD)
    listening.join()


async def test_samples_are_sent_when_the_supervisor_requests_them(ends):
    supervisor, theirs = ends
    link = Link(theirs, collect=lambda: b"values")
    listening = threading.Thread(target=link.listen)
    listening.start()
    supervisor.request_samples()
    found = await asyncio.to_thread(wait, supervisor)
    assert found == [(Kind.SAMPLES, b"values")]
    theirs.shutdown(socket.SHUT_RD)
    listening.join()


def test_a_supervisor_that_does_not_read_does_not_block_its_worker(ends):
    supervisor, theirs = ends
    link = Link(theirs, collect=lambda: b"x" * 1_000_000)
    link.report_samples()
    link.report_ready()
    # Half a message cannot be followed by another one.
    assert (Kind.READY, b"") not in read(supervisor)
    assert not supervisor.is_open


def test_a_process_stops_once_its_supervisor_has_ended():
    supervisor, theirs = open_link()
    pid = os.fork()
    if pid == 0:
        supervisor.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        Link(theirs).watch(60)
        signal.pause()
        os._exit(0)
    theirs.close()
    supervisor.close()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM


def test_a_dismissed_worker_knows_that_it_is_being_replaced():
    supervisor, theirs = open_link()
    pid = os.fork()
    if pid == 0:
        supervisor.close()
        link = Link(theirs)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7 if link.is_replaced else 1))
        link.watch(60)
        while True:
            signal.pause()
    theirs.close()
    assert supervisor.dismiss()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert not supervisor.dismiss()
    supervisor.close()
