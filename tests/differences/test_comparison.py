"""A comparison fails if it finds a difference that is not known."""

import pytest
from tests.differences.comparison import Known, Refused, Subject, compare


def test_a_difference_that_no_rule_recognises_fails():
    known = Known("even", "Even numbers are read differently.", lambda case, *_: case % 2 == 0)
    subject = Subject(
        "numbers",
        100,
        lambda rng: rng.randrange(4),
        lambda number: Refused("odd") if number == 3 else number,
        # Zero and two differ but are known, one is the same, and three is refused by us alone.
        lambda numbers: [number if number % 2 else -1 for number in numbers],
        [known],
    )
    with pytest.raises(AssertionError, match="unknown differences from nobody") as failure:
        compare("nobody", "A number.", [subject])
    assert ": 3\n  Refused(reason='odd')\n  3" in str(failure.value)
    assert ": 2\n" not in str(failure.value)


def test_refusals_for_different_reasons_do_not_count_as_a_difference():
    assert Refused("too long") == Refused("too short")
