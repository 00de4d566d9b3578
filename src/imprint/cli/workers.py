"""Workers: several processes on one socket, watched over by the one that started them."""

import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from imprint.cli.complaints import MISCONFIGURED

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""How long to wait before a worker that died is replaced, so that dying does not become a loop."""


@dataclass(slots=True)
class Supervisor:
    """Keeps `count` workers running; SIGHUP replaces them one after the other.

    `work` is a worker's whole life: it is called with the worker's place and gives its exit status.
    Workers are forked when everything is loaded and nothing is open, so that they share what never
    changes and nothing that does.
    """

    count: int
    work: Callable[[int], int]
    _places: dict[int, int] = field(default_factory=dict)
    _leaving: set[int] = field(default_factory=set)
    _stopping: bool = False
    _status: int = 0

    def run(self) -> int:
        """Watch over the workers until told to stop; the exit status of the whole."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._stop)
        signal.signal(signal.SIGHUP, self._renew)
        for place in range(self.count):
            self._start(place)
        while self._places:
            pid, status = os.wait()
            if pid in self._places:
                place = self._places.pop(pid)
                self._replace(pid, place, os.waitstatus_to_exitcode(status))
        return self._status

    def _start(self, place: int) -> None:
        pid = os.fork()
        if pid == 0:
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            status = 1
            try:
                status = self.work(place)
            finally:
                # Whatever happened, a worker never returns into its supervisor's code.
                os._exit(status)
        self._places[pid] = place

    def _replace(self, pid: int, place: int, status: int) -> None:
        expected = pid in self._leaving
        self._leaving.discard(pid)
        if self._stopping or expected:
            return
        if status == MISCONFIGURED:
            self._status = status
            self._stop(signal.SIGTERM, None)
            return
        log.error("worker died and is replaced", extra={"place": place, "exit_status": status})
        time.sleep(PAUSE_SECONDS)
        self._start(place)

    def _renew(self, number: int, frame: FrameType | None) -> None:
        """Start a new worker beside each old one, and let the old one finish."""
        for pid, place in list(self._places.items()):
            if pid not in self._leaving:
                self._start(place)
                self._leaving.add(pid)
                os.kill(pid, signal.SIGTERM)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        for pid in self._places:
            os.kill(pid, signal.SIGTERM)
