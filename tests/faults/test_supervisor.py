"""The worker supervisor in a separate process: signals at the worst moments."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from imprint.server.supervisor import MISCONFIGURED

SECONDS = 90


def _start(program: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_signal_at_any_moment_stops_every_process():
    running = _start(
        """
        import os, signal, time
        from imprint.server.supervisor import Plan
        from imprint.server.supervisor import Supervisor

        def work(place, link):
            if place == 0:
                # While its supervisor is still busy with the others, sooner or later.
                time.sleep(step * 0.0002)
                os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)
            return 0

        for step in range(60):
            plan = Plan(8, work)
            assert Supervisor(plan, lambda: plan).run() == 0
        print("done")
        """
    )
    try:
        out, err = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert (out, running.returncode) == ("done\n", 0), err


def test_a_stop_before_a_dead_worker_is_replaced_starts_no_new_worker():
    running = _start(
        """
        import logging, sys
        from imprint.server.supervisor import Plan
        from imprint.server.supervisor import Supervisor

        logging.basicConfig(level="ERROR", stream=sys.stdout)

        def work(place, link):
            print("born", flush=True)
            return 1

        plan = Plan(1, work)
        sys.exit(Supervisor(plan, lambda: plan, pause=60).run())
        """
    )
    try:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(2)] == [
            "born\n",
            "ERROR:imprint.server.supervisor:worker died and will be replaced\n",
        ]
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
    assert (out, running.returncode) == ("", 0), err


def _end(running: "subprocess.Popen[str]") -> str:
    """Return the remaining output of the process, which must exit with 0."""
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
    from imprint.server.supervisor import Plan, ReloadRefused
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

    def reread():
        return Plan(2, work)

    {body}

    plan = Plan(2, work, {plan})
    sys.exit(Supervisor(plan, reread, pause=0.05, {options}).run())
"""


def _start_program(
    folder: Path, body: str, options: str = "", plan: str = ""
) -> "subprocess.Popen[str]":
    indented = dedent(body).strip().replace("\n", "\n    ")
    return _start(PROGRAM.format(folder=str(folder), body=indented, options=options, plan=plan))


def test_a_worker_that_cannot_start_stops_the_service_if_none_was_ready(tmp_path: Path):
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


def test_a_worker_that_cannot_start_is_retried_while_others_serve(tmp_path: Path):
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
        refused = "worker cannot start; the others continue, and it is retried"
        assert [_line(running) for _ in range(4)] == [refused] * 3 + ["serves at last"]
        running.send_signal(signal.SIGTERM)
    finally:
        assert _end(running) == ""


GENERATIONS = """
    import asyncio

    def generation(place):
        count = marks / str(place)
        with count.open("a") as file:
            file.write("x")
        return count.stat().st_size

    def work_in(place, link):
        which = generation(place)
        if which > 1:
            {new}
        handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        asyncio.run(link.wait_for_permission())
        signal.signal(signal.SIGTERM, handler)
        say("serves", which, place)
        link.report_ready()
        serve()
        say("left", which, place)
        return 0

    {more}
"""

FAILED = "reload failed; the service continues as before"


def _start_generations(
    folder: Path, new: str = "pass", more: str = "", options: str = ""
) -> "subprocess.Popen[str]":
    """Start workers that report when they serve and when they stop. Later generations run
    `new` first."""
    return _start_program(folder, GENERATIONS.format(new=new, more=more), options)


def _lines(running: "subprocess.Popen[str]", count: int) -> list[str]:
    return [_line(running) for _ in range(count)]


FIRST = ["serves 1 0", "serves 1 1"]
LEFT = ["left 1 0", "left 1 1"]


def test_old_workers_exit_once_all_new_ones_serve(tmp_path: Path):
    running = _start_generations(tmp_path)
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        assert sorted(_lines(running, 2)) == ["serves 2 0", "serves 2 1"]
        assert sorted(_lines(running, 2)) == LEFT
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 2 0", "left 2 1"]


def _fail_to_reload(running: "subprocess.Popen[str]") -> None:
    """Check that a reload fails, stop, and check that only the first workers have served."""
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        assert _line(running) == FAILED
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == LEFT


def test_no_new_worker_serves_if_one_new_worker_fails(tmp_path: Path):
    running = _start_generations(tmp_path, "if place == 1: return 1")
    _fail_to_reload(running)


def test_a_reload_fails_if_a_new_worker_starts_too_slowly(tmp_path: Path):
    new = "return serve()"
    running = _start_generations(tmp_path, new, options="successor_seconds=0.3")
    _fail_to_reload(running)


def test_a_refused_reload_starts_no_workers(tmp_path: Path):
    more = """
    def reread():
        raise ReloadRefused(["It is wrong."])
    """
    running = _start_generations(tmp_path, more=more.strip())
    _fail_to_reload(running)
    assert (tmp_path / "0").stat().st_size == 1


def test_an_exception_while_reading_settings_fails_only_the_reload(tmp_path: Path):
    more = """
    def reread():
        raise KeyError("a mistake")

    logging.getLogger("imprint.server.supervisor").addFilter(lambda each: not each.exc_info)
    """
    running = _start_generations(tmp_path, more=more.strip())
    _fail_to_reload(running)


def test_a_failed_fork_fails_only_the_reload(tmp_path: Path):
    more = """
    fork = os.fork

    def fork_within_limits():
        if (marks / "full").exists():
            raise OSError(11, "Resource temporarily unavailable")
        return fork()

    os.fork = fork_within_limits
    """
    running = _start_generations(tmp_path, more=more.strip())
    try:
        assert sorted(_lines(running, 2)) == FIRST
        (tmp_path / "full").touch()
        running.send_signal(signal.SIGHUP)
        assert _line(running) == FAILED
        (tmp_path / "full").unlink()
        running.send_signal(signal.SIGHUP)
        assert sorted(_lines(running, 2)) == ["serves 2 0", "serves 2 1"]
        assert sorted(_lines(running, 2)) == LEFT
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 2 0", "left 2 1"]


def test_a_reload_changes_the_number_of_workers(tmp_path: Path):
    more = """
    def reread():
        return Plan(1, work)
    """
    running = _start_generations(tmp_path, more=more.strip())
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        assert _line(running) == "serves 2 0"
        assert sorted(_lines(running, 2)) == LEFT
        running.send_signal(signal.SIGTERM)
    finally:
        assert _end(running).splitlines() == ["left 2 0"]


def test_hangup_signals_during_a_reload_cause_one_more_reload(tmp_path: Path):
    new = """
            if which == 2 and place == 0:
                os.kill(os.getppid(), signal.SIGHUP)
                time.sleep(0.1)
                os.kill(os.getppid(), signal.SIGHUP)
                time.sleep(0.1)
    """
    running = _start_generations(tmp_path, new.strip())
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        said = _lines(running, 8)
        assert sorted(said[:2]) == ["serves 2 0", "serves 2 1"]
        later = ["left 2 0", "left 2 1", "serves 3 0", "serves 3 1"]
        assert sorted(said[2:]) == sorted(LEFT + later)
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 3 0", "left 3 1"]


def test_a_stop_during_a_reload_stops_all_processes(tmp_path: Path):
    running = _start_generations(tmp_path, 'say("new"); return serve()')
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        assert _line(running) == "new"
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == LEFT


def test_an_old_worker_that_dies_during_a_failed_reload_is_replaced(tmp_path: Path):
    new = """
            if place == 0 and which == 2:
                time.sleep(0.2)
                (marks / "die").touch()
                time.sleep(0.5)
                return 1
    """
    more = """
    calm = serve

    def serve():
        while not stopping:
            if place_of[0] == 1 and (marks / "die").exists():
                (marks / "die").unlink()
                os._exit(9)
            time.sleep(0.01)

    place_of = [None]
    plain = work_in

    def work_in(place, link):
        place_of[0] = place
        return plain(place, link)
    """
    running = _start_generations(tmp_path, new.strip(), more.strip())
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        said = _lines(running, 3)
        assert sorted(said) == [FAILED, "serves 2 1", "worker died and will be replaced"]
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 1 0", "left 2 1"]


def test_a_worker_that_hangs_during_shutdown_is_killed(tmp_path: Path):
    more = """
    def hang(place, link):
        link.report_ready()
        say("serves", 1, place)
        while True:
            time.sleep(1)

    first = True

    def work(place, link):
        signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        return hang(place, link) if generation(place) == 1 else work_in(place, link)
    """
    running = _start_program(
        tmp_path, GENERATIONS.format(new="pass", more=more.strip()), plan="stop_seconds=0.2"
    )
    try:
        assert sorted(_lines(running, 2)) == FIRST
        running.send_signal(signal.SIGHUP)
        said = _lines(running, 4)
        killed = ["worker did not stop and was killed"] * 2
        assert sorted(said) == ["serves 3 0", "serves 3 1", *killed]
        running.send_signal(signal.SIGTERM)
    finally:
        assert sorted(_end(running).splitlines()) == ["left 3 0", "left 3 1"]


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
        plan="stop_seconds=0.2",
    )
    assert [_line(running) for _ in range(2)] == ["serves"] * 2
    running.send_signal(signal.SIGTERM)
    assert _end(running).splitlines() == ["worker did not stop and was killed"] * 2
