"""Outcomes of signed writes determine when a dependency starts and stops counting as failing."""

import pytest

from imprint.domain.errors import Code, Damaged, Unavailable
from imprint.services.write_health import WINDOW, WriteHealth

DATABASE, STORAGE = Code.DATABASE_UNAVAILABLE, Code.STORAGE_UNAVAILABLE


class Seconds:
    """A manual clock."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def health(seconds):
    return WriteHealth(seconds)


def test_a_dependency_is_failing_from_the_first_write_that_it_refuses(health):
    assert not health.is_failing(DATABASE)
    health.note(DATABASE, Unavailable.database())
    assert health.is_failing(DATABASE)
    assert not health.is_failing(STORAGE)


def test_an_outage_ends_after_as_many_successes_as_failures(health):
    for _ in range(2):
        health.note(STORAGE, Unavailable.storage())
    health.succeeded += 1
    assert health.is_failing(STORAGE)
    health.succeeded += 1
    assert not health.is_failing(STORAGE)


def test_successes_before_the_window_do_not_count(health, seconds):
    health.note(DATABASE, Unavailable.database())
    health.succeeded += 1_000
    seconds.now += 2 * WINDOW
    health.note(DATABASE, Unavailable.database())
    assert health.is_failing(DATABASE)


def test_a_probe_ends_an_outage_if_no_write_failed_recently(health, seconds):
    health.note(DATABASE, Unavailable.database())
    seconds.now += WINDOW / 2
    health.note(DATABASE, Unavailable.database())
    seconds.now += 0.9 * WINDOW
    health.note_probe(DATABASE)
    assert health.is_failing(DATABASE)
    seconds.now += 0.2 * WINDOW
    health.note_probe(STORAGE)
    assert health.is_failing(DATABASE)
    health.note_probe(DATABASE)
    assert not health.is_failing(DATABASE)


@pytest.mark.parametrize(
    "problem",
    [
        Unavailable.chain(),
        Unavailable(Code.OVERLOADED, "Too many."),
        Damaged.record("file"),
        Damaged.document("document"),
    ],
)
def test_a_failure_of_one_write_does_not_mark_its_dependency_as_failing(health, problem):
    health.note(DATABASE, problem)
    health.note(STORAGE, problem)
    assert not health.is_failing(DATABASE)
    assert not health.is_failing(STORAGE)


def test_a_document_conflict_does_not_mark_the_content_store_as_failing(health):
    health.note(DATABASE, Unavailable.storage())
    assert not health.is_failing(DATABASE)
    assert not health.is_failing(STORAGE)
