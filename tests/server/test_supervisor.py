"""The supervisor of workers, in a process of its own: signals at the worst moments."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

from imprint.server.supervisor import MISCONFIGURED

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

        def work(place, link):
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

        def work(place, link):
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


def _end(running: "subprocess.Popen[str]") -> str:
    """What it printed from now on; it must end well."""
    try:
        out, err = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert running.returncode == 0, err
    return out


def _line(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    return running.stdout.readline().strip()


PROGRAM = """
    import logging, os, signal, sys, time
    from pathlib import Path
    from imprint.server.supervisor import MISCONFIGURED, Supervisor

    logging.basicConfig(level="ERROR", stream=sys.stdout, format="%(message)s")
    marks = Path({folder!r})

    stopping = []

    def say(*words):
        # In one piece: both workers write to the same pipe.
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())

    def serve():
        while not stopping:
            time.sleep(0.01)
        return 0

    def work(place, link):
        signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        return work_in(place, link)

    {body}

    sys.exit(Supervisor(2, work, pause=0.05, {options}).run())
"""


def _start_program(folder: Path, body: str, options: str = "") -> "subprocess.Popen[str]":
    indented = dedent(body).strip().replace("\n", "\n    ")
    return _start(PROGRAM.format(folder=str(folder), body=indented, options=options))


def test_a_worker_that_cannot_start_ends_the_service_if_none_was_ready(tmp_path: Path):
    running = _start_program(
        tmp_path,
        """
        def work_in(place, link):
            return MISCONFIGURED if place == 0 else serve()
        """,
    )
    try:
        running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert running.returncode == MISCONFIGURED


def test_a_worker_that_cannot_start_is_tried_again_while_others_serve(tmp_path: Path):
    running = _start_program(
        tmp_path,
        """
        def work_in(place, link):
            if place == 0:
                while not (marks / "served").exists():
                    time.sleep(0.01)
                attempts = marks / "attempts"
                with attempts.open("a") as file:
                    file.write("x")
                if attempts.stat().st_size < 4:
                    return MISCONFIGURED
                say("serves at last")
            link.report_ready()
            if place == 1:
                time.sleep(0.2)
                (marks / "served").touch()
            return serve()
        """,
    )
    try:
        refused = "worker cannot start; the others go on, and it is tried again"
        assert [_line(running) for _ in range(4)] == [refused] * 3 + ["serves at last"]
        running.send_signal(signal.SIGTERM)
    finally:
        assert _end(running) == ""


RENEWED = """
    def work_in(place, link):
        generation = marks / str(place)
        with generation.open("a") as file:
            file.write("x")
        if generation.stat().st_size == 1:
            link.report_ready()
            if place == 1:
                while (marks / "0").stat().st_size == 0:
                    time.sleep(0.01)
                say("old")
            serve()
            say("left", place)
            return 0
        {successor}
"""


def test_an_old_worker_stays_if_its_successor_fails(tmp_path: Path):
    successor = "time.sleep(0.1); return 1"
    (tmp_path / "0").touch()
    running = _start_program(tmp_path, RENEWED.format(successor=successor))
    try:
        assert _line(running) == "old"
        time.sleep(0.3)
        running.send_signal(signal.SIGHUP)
        failed = "new worker ended before it was ready; the old one stays"
        assert [_line(running) for _ in range(2)] == [failed] * 2
        running.send_signal(signal.SIGTERM)
    finally:
        # They had not left before.
        assert sorted(_end(running).splitlines()) == ["left 0", "left 1"]


def test_a_successor_that_is_never_ready_is_given_up(tmp_path: Path):
    (tmp_path / "0").touch()
    running = _start_program(
        tmp_path, RENEWED.format(successor="return serve()"), "successor_seconds=0.3"
    )
    try:
        assert _line(running) == "old"
        time.sleep(0.3)
        running.send_signal(signal.SIGHUP)
        failed = "new worker ended before it was ready; the old one stays"
        assert [_line(running) for _ in range(2)] == [failed] * 2
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 0", "left 1"]


def test_an_old_worker_leaves_when_its_successor_is_ready(tmp_path: Path):
    (tmp_path / "0").touch()
    successor = """
        time.sleep(0.1)
        say("ready", place)
        link.report_ready()
        return serve()"""
    running = _start_program(tmp_path, RENEWED.format(successor=successor.strip()))
    try:
        assert _line(running) == "old"
        time.sleep(0.3)
        running.send_signal(signal.SIGHUP)
        said = [_line(running) for _ in range(4)]
        assert sorted(said) == ["left 0", "left 1", "ready 0", "ready 1"]
        for place in "01":
            assert said.index(f"ready {place}") < said.index(f"left {place}")
        running.send_signal(signal.SIGTERM)
    finally:
        assert _end(running) == ""


def test_workers_stop_when_their_supervisor_is_killed(tmp_path: Path):
    running = _start_program(
        tmp_path,
        """
        def work_in(place, link):
            link.report_ready()
            say("serves")
            serve()
            say("stopped")
            return 0
        """,
    )
    assert [_line(running) for _ in range(2)] == ["serves"] * 2
    running.kill()
    out, _ = running.communicate(timeout=SECONDS)
    assert out.splitlines() == ["stopped"] * 2


def test_a_worker_that_does_not_stop_is_killed(tmp_path: Path):
    running = _start_program(
        tmp_path,
        """
        def work_in(place, link):
            link.report_ready()
            say("serves")
            time.sleep(600)
        """,
        "stop_seconds=0.2",
    )
    assert [_line(running) for _ in range(2)] == ["serves"] * 2
    running.send_signal(signal.SIGTERM)
    assert _end(running).splitlines() == ["worker does not stop and is killed"] * 2
