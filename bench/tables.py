"""Tables of results in Markdown, for the terminal and for docs/scale.md."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}

Results = Mapping[str, Any]
"""A `Report` as JSON."""


def render_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. The cells of all columns except the first are aligned to the right."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def render_costs(bench: Results) -> str:
    """Return the processor time of each request and of its floor, with quartiles in brackets."""
    found = {(each["name"], each["database"]): each for each in bench["measurements"]}
    databases = _databases(bench["measurements"])
    heads = ["request"]
    for database in databases:
        heads += [f"{TITLES[database]}, µs", "floor, µs", "of its floor"]
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        row = [name]
        for database in databases:
            each = found[name, database]
            row += [
                "{:,.0f} ({:,.0f}–{:,.0f})".format(
                    each["processor_us"], *each["processor_quartiles"]
                ),
                f"{each['floor_us']:,.0f}",
                "**{:.0%}** ({:.0%}–{:.0%})".format(each["share"], *each["share_quartiles"]),
            ]
        rows.append(row)
    return render_table(heads, rows)


def render_sizes(bench: Results) -> str:
    """Return how many times as long each request takes in the largest catalog as in the smallest.

    The searches are followed by their latency in the largest catalog.
    """
    rows = [each for each in bench["sizes"] if each["files"] == _largest(bench)]
    columns = [(name, writes) for name in _databases(rows) for writes in (False, True)]
    heads = [f"{TITLES[name]}{' during writes' if writes else ''}" for name, writes in columns]
    found = {(each["scenario"], each["database"], each["writes"]): each for each in rows}
    names = dict.fromkeys(each["scenario"] for each in rows)
    return render_table(
        ["request", *heads],
        [[name, *(_describe_size(found[name, *column]) for column in columns)] for name in names],
    )


def _largest(bench: Results) -> int:
    return max((each["files"] for each in bench["sizes"]), default=0)


def _describe_size(row: Mapping[str, Any]) -> str:
    if "alone_ms" not in row:
        return f"{row['ratio']:.2f}"
    return f"{row['ratio']:.2f} ({row['p50_ms']:.1f} ms, alone {row['alone_ms']:.1f} ms)"


def render_workers(bench: Results) -> str:
    """Return the rates, the memory and the start of workers."""
    facts, ratios = bench["facts"], bench["ratios"]
    largest = _largest(bench)
    names: dict[str, tuple[Mapping[str, float], str, str]] = {
        "requests/s of one worker with a p99 below 10 ms": (
            facts,
            "highest rate with a p99 below 10 ms on {}, 1 workers",
            ",.0f",
        ),
        "requests/s of two workers that share two cores with the load": (
            facts,
            "highest rate with a p99 below 10 ms on {}, 2 workers",
            ",.0f",
        ),
        "processor time of a list, two workers / one": (
            ratios,
            "processor time of a list on {}, two workers / one",
            ".2f",
        ),
        "processor time of a create, two workers / one": (
            ratios,
            "processor time of a create on {}, two workers / one",
            ".2f",
        ),
        "memory of a worker, MB": (facts, "memory of a worker on {}, MB", ".0f"),
        f"memory of a worker with {largest:,} files, MB": (
            facts,
            f"memory of a worker at {largest} files on {{}}, MB",
            ".0f",
        ),
        "start-up, s": (facts, "start-up on {}, s", ".1f"),
    }
    databases = _databases(bench["measurements"])
    rows = [
        [name, *(format(values[key.format(each)], shape) for each in databases)]
        for name, (values, key, shape) in names.items()
        if all(key.format(each) in values for each in databases)
    ]
    return render_table(["", *(TITLES[each] for each in databases)], rows)


def render_recovery(recovery: Results) -> str:
    """Return the minutes that each command of a recovery takes."""
    facts = recovery["facts"]
    # A fact is named `backup, 1,000,000 posts on sqlite, s`.
    steps = dict.fromkeys(
        (step, posts)
        for name in facts
        if name.endswith(", s") and not name.endswith("processor s")
        for step, _, posts in [name.partition(" on ")[0].partition(", ")]
    )
    rows = [
        [f"{step}, {posts}"]
        + [f"{facts[f'{step}, {posts} on {each}, s'] / 60:.1f}" for each in TITLES]
        for step, posts in steps
    ]
    return render_table(["command", *(f"{title}, minutes" for title in TITLES.values())], rows)


def render_needs(needs: Sequence[Mapping[str, Any]]) -> str:
    """Return what each deployment needs."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "readers at once": lambda each: f"{each['readers']:,}",
        "requests/s": lambda each: f"{each['requests_per_second']:,.0f}",
        "posts": lambda each: f"{each['posts']:,}",
        "database": lambda each: TITLES[each["database"]],
        "cores": lambda each: f"{each['cores']:,.1f}",
        "workers, GB": lambda each: f"{each['workers_gigabytes']:,.1f}",
        "database, GB": lambda each: f"{each['catalog_gigabytes']:,.2f}",
        "documents, GB": lambda each: f"{each['documents_gigabytes']:,.1f}",
        "chain reads/s": lambda each: f"{each['chain_reads_per_second']:,.0f}",
        "without affinity": lambda each: f"{each['chain_reads_per_second_without_affinity']:,.0f}",
    }
    rows = [[render(each) for render in columns.values()] for each in needs]
    return render_table([*columns], rows)


def _databases(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    measured = {each["database"] for each in rows}
    return [database for database in TITLES if database in measured]
