"""The supervisor of workers, in a process of its own: signals at the worst moments."""

import signal
import subprocess
import sys
from textwrap import dedent

SECONDS = 20


def _start(program: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_signal_ends_everything_at_whatever_moment_it_comes():
    running = _start(
        """
        import os, signal, time
        from imprint.server.supervisor import Supervisor

        def work(place):
            if place == 0:
                # While its supervisor is still busy with the others, sooner or later.
                time.sleep(step * 0.0002)
                os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)
            return 0

        for step in range(60):
            assert Supervisor(8, work).run() == 0
        print("done")
        """
    )
    try:
        out, err = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert (out, running.returncode) == ("done\n", 0), err


def test_a_stop_while_a_worker_waits_to_be_replaced_starts_none():
    running = _start(
        """
        import logging, sys
        from imprint.server.supervisor import Supervisor

        logging.basicConfig(level="ERROR", stream=sys.stdout)

        def work(place):
            print("born", flush=True)
            return 1

        sys.exit(Supervisor(1, work, pause=60).run())
        """
    )
    try:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(2)] == [
            "born\n",
            "ERROR:imprint.server.supervisor:worker died and is replaced\n",
        ]
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert (out, running.returncode) == ("", 0), err
