"""The results on the page about trust can be repeated."""

from tests.house.history import commit_times
from tools.trust import read_results


def test_every_result_is_of_a_commit_in_the_history():
    known = commit_times()
    assert {each.commit for each in read_results()} - known.keys() == set()


def test_no_finding_is_open():
    assert [each.suite for each in read_results() if each.found != "nothing"] == []
