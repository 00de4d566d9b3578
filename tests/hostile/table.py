"""Tables that show what each attack does, its effect and its cost."""

from collections.abc import Sequence

from tests.hostile.registry import Attack, Observation

_HEAD = (
    "attack",
    "conns",
    "requests",
    "sent MB",
    "memory MB",
    "p50 ms",
    "p99 ms",
    "quiet p99",
    "refused",
    "back s",
)


def write_table(observations: Sequence[Observation]) -> list[str]:
    """The results as lines of text, one per attack."""
    rows = [_HEAD, *(_row(each) for each in observations)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _row(seen: Observation) -> tuple[str, ...]:
    tally = seen.tally
    return (
        seen.attack.name,
        str(tally.connections),
        str(tally.requests),
        f"{tally.sent / 1e6:.1f}",
        f"{seen.growth:+.0f}",
        f"{seen.quantile(0.5) * 1000:.0f}",
        f"{seen.quantile(0.99) * 1000:.0f}",
        f"{seen.quiet_p99 * 1000:.0f}",
        f"{len(seen.refusals)}/{len(seen.during)}",
        "never" if seen.recovery is None else f"{seen.recovery:.1f}",
    )


def write_rows(attacks: Sequence[Attack]) -> str:
    """The table for the documentation: what each attack does and what limits it."""
    rows = [f"| `{each.name}` | {each.does} | {each.bounded_by} |" for each in attacks]
    return "\n".join(["| attack | what it does | what bounds it |", "|---|---|---|", *rows])
