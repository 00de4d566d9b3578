"""Runs many seeds in several processes: `python -m tests.simulation`.

SEEDS=10000 runs the seeds 1 to 10 000, and SEEDS=501-900 a range. SEED=7 prints the trace of one
seed. WORKERS is the number of processes. RECORD=1 saves the result for docs/trust.md.
"""

import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.simulation.workers import Total, choose_seeds, run, run_seeds
from tools.trust import Result, save_result

SEEDS = 300
"""The default number of seeds."""

WORKERS = 2

AT_ONCE = 10
"""The number of seeds that a process runs before it reports."""

MOST_SHOWN = 3
"""The number of failed seeds whose traces are printed."""


def main() -> None:
    """Run the seeds, and exit with status 1 if one failed, or if a long run missed a fault."""
    if one := os.environ.get("SEED"):
        logging.disable(logging.CRITICAL)
        done = run(int(one))
        print(*done.trace, done.digest, sep="\n")
        sys.exit(done.error is not None)
    asked = os.environ.get("SEEDS") or str(SEEDS)
    seeds, workers = choose_seeds(asked), int(os.environ.get("WORKERS") or WORKERS)
    parts = [list(seeds[i : i + AT_ONCE]) for i in range(0, len(seeds), AT_ONCE)]
    began, total = time.monotonic(), Total()
    # A fork would share the connections of its parent.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for part in pool.map(run_seeds, parts):
            total.add(part)
            for report in part.failed.values():
                if len(total.failed) <= MOST_SHOWN:
                    print(report, flush=True)
    seconds = time.monotonic() - began
    show(total, seconds)
    save(total, asked, seconds)
    sys.exit(bool(total.failed or total.missing))


def show(total: Total, seconds: float) -> None:
    """Print what was run, and how fast."""
    for title, counts in (("actions", total.actions), ("faults", total.faults)):
        print(f"{title}:", ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    print(
        f"{total.seeds} seeds on SQLite took {total.seconds:.0f} s of processor time, "
        f"{total.seeds / max(total.seconds, 0.001):.1f} a second and core"
    )
    print(
        f"{total.on_postgresql} seeds on PostgreSQL took {total.seconds_on_postgresql:.0f} s; "
        f"altogether {total.seeds + total.on_postgresql} seeds in {seconds:.0f} s"
    )
    if total.failed:
        print(f"FAILED {len(total.failed)} seeds: {sorted(total.failed)[:50]}")
    if total.missing:
        print(f"FAILED, because no seed met: {', '.join(total.missing)}")


def save(total: Total, asked: str, seconds: float) -> None:
    """Save the result for docs/trust.md."""
    save_result(
        Result(
            suite="Simulation",
            tried="A random history of writes, market events, readers, operators and faults in a "
            "service with up to two processes. No response may contain a text that its reader may "
            "not read. At every rest, the index and a sample of responses (in one run of ten, all) "
            "are compared with a model that is computed from the chain.",
            counts={
                "seeds on SQLite": total.seeds,
                "seeds on PostgreSQL": total.on_postgresql,
                "actions": sum(total.actions.values()),
                "responses": total.responses,
                **dict(total.faults.most_common()),
            },
            found=", ".join(
                [f"seed {seed} failed" for seed in total.failed]
                + [f"no seed met: {name}" for name in total.missing]
            )
            or "nothing",
            command=f"make simulate SEEDS={asked}",
            seconds=round(seconds),
            seed=f"1-{asked}" if asked.isdigit() else asked,
        )
    )


if __name__ == "__main__":
    main()
