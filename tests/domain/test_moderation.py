"""The strictest moderation measure applies until it is undone."""

from datetime import UTC, datetime, timedelta

import pytest

from imprint.domain.formats.addresses import Address
from imprint.domain.moderation import (
    Decision,
    Ground,
    LoggedDecision,
    Measure,
    Measures,
    Target,
    TargetKind,
    post_targets,
    read_decision,
)

NOW = datetime(2026, 11, 18, tzinfo=UTC)
AUTHOR = Address("0x" + "1" * 40)
TARGETS = post_targets(7, AUTHOR, "cid", ("ink",))


def measures(*decided: tuple[TargetKind, Measure, Ground]) -> Measures:
    """Return the measures after these decisions about a post, made one second apart."""
    of_kind = {target.kind: target for target in TARGETS}
    return Measures().after(
        LoggedDecision(
            number, Decision(of_kind[kind], measure, ground, "", NOW + timedelta(0, number))
        )
        for number, (kind, measure, ground) in enumerate(decided, 1)
    )


def strictest(found: Measures) -> tuple[TargetKind, Measure] | None:
    decision = found._strictest(TARGETS)
    return None if decision is None else (decision.target.kind, decision.measure)


POST, CID, TAG, BY = TargetKind.POST, TargetKind.CID, TargetKind.TAG, TargetKind.AUTHOR
POLICY, LEGAL = Ground.POLICY, Ground.LEGAL


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ([], None),
        ([(BY, Measure.ALLOWED, POLICY)], None),
        ([(BY, Measure.REFUSED, POLICY)], None),
        ([(BY, Measure.ALLOWED, POLICY), (TAG, Measure.UNLISTED, POLICY)], (TAG, "unlisted")),
        ([(POST, Measure.WITHHELD, POLICY), (BY, Measure.UNLISTED, LEGAL)], (POST, "withheld")),
        ([(POST, Measure.WITHHELD, POLICY), (CID, Measure.WITHHELD, LEGAL)], (CID, "withheld")),
        ([(TAG, Measure.WITHHELD, LEGAL), (CID, Measure.WITHHELD, LEGAL)], (TAG, "withheld")),
        ([(POST, Measure.WITHHELD, LEGAL), (POST, Measure.UNDONE, LEGAL)], None),
    ],
)
def test_the_strictest_measure_applies(decided, expected) -> None:
    assert strictest(measures(*decided)) == expected


def test_undoing_lifts_all_measures_on_one_target_only() -> None:
    found = measures(
        (BY, Measure.REFUSED, POLICY),
        (BY, Measure.UNLISTED, POLICY),
        (TAG, Measure.UNLISTED, POLICY),
        (BY, Measure.UNDONE, POLICY),
    )
    assert not found.refuses(AUTHOR)
    assert strictest(found) == (TAG, Measure.UNLISTED)
    assert (found.number, found.withholds) == (4, False)


def test_an_exported_decision_can_be_read_back() -> None:
    target = Target(TargetKind.TAG, "ink")
    logged = LoggedDecision(3, Decision(target, Measure.UNLISTED, Ground.LEGAL, "Why", NOW))
    assert read_decision(logged.record) == logged
    for name in logged.record:
        with pytest.raises(ValueError, match=r".+"):
            read_decision(logged.record | {name: None})
