"""A supervisor when a metrics scrape times out, processes are limited, or a reload fails."""

import subprocess
import sys
from textwrap import dedent

SECONDS = 90


def _run(program: str) -> str:
    """The output of a program, which must exit with 0."""
    command = [sys.executable, "-c", dedent(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_supervisor_does_not_wait_for_a_scraper_that_timed_out():
    said = _run(
        """
        import signal, socket, sys, time
        from imprint.server import metrics_server, supervisor
        from imprint.server.listeners import listen
        from imprint.server.supervisor import Plan

        metrics_server.CLIENT_SECONDS, supervisor.SAMPLE_SECONDS = 0.2, 0.4
        turns = 0

        class Counting(supervisor.Supervisor):
            def _timeout(self):
                global turns
                turns += 1
                return super()._timeout()

        def work(place, link):
            time.sleep(60)
            return 0

        listener = listen("127.0.0.1", 0)
        client = socket.create_connection(listener.getsockname())
        client.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        plan = Plan(1, work, metrics=listener)
        # A worker that never responds, as a frozen one.
        supervisor.WorkerLink.request_samples = lambda link: None
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        status = Counting(plan, lambda: plan).run()
        print("closed" if client.recv(1) == b"" else "open", turns < 50)
        sys.exit(status)
        """
    )
    assert said == "closed True\n"


def test_a_service_starts_with_as_many_workers_as_the_system_allows():
    said = _run(
        """
        import logging, os, signal, sys
        from imprint.server import supervisor
        from imprint.server.supervisor import Plan

        logging.basicConfig(level="ERROR", stream=sys.stdout, format="%(message)s")
        supervisor.LONGEST_RESTART_SECONDS = 0.2
        fork, refusals = os.fork, ["Resource temporarily unavailable"]
        reader, writer = os.pipe()

        def fork_within_limits():
            if refusals:
                raise OSError(11, refusals.pop())
            return fork()

        def work(place, link):
            if place == 0:
                os.read(reader, 1)
            os.write(1, b"serves %d\\n" % place)
            os.write(writer, b"x")
            if place == 0:
                os.kill(os.getppid(), signal.SIGTERM)
            signal.pause()

        os.fork = fork_within_limits
        plan = Plan(2, work)
        sys.exit(supervisor.Supervisor(plan, lambda: plan).run())
        """
    )
    assert said.splitlines() == ["no worker can be started", "serves 1", "serves 0"]


def test_a_failed_reload_during_startup_does_not_abort_the_startup():
    said = _run(
        """
        import os, signal, sys
        from imprint.server.supervisor import Plan, ReloadRefused
        from imprint.server.supervisor import Supervisor

        told, tell = os.pipe()

        class Notifier:
            due = None

            def sign_of_life(self):
                pass

            def __getattr__(self, name):
                def say(*words):
                    print(name, *words, flush=True)
                    os.write(tell, b"x")

                return say

        def work(place, link):
            os.kill(os.getppid(), signal.SIGHUP)
            os.read(told, 1)
            link.report_ready()
            os.read(told, 1)
            os.kill(os.getppid(), signal.SIGTERM)
            signal.pause()

        def refuse():
            raise ReloadRefused(["It is wrong."])

        sys.exit(Supervisor(Plan(1, work), refuse, notifier=Notifier()).run())
        """
    )
    assert said.splitlines() == ["reloading", "ready serving", "stopping"]
