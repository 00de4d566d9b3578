"""The results on the page about trust are complete and can be repeated."""

from tests.house.history import commit_times
from tools.trust import Result, read_results

RESULTS = {each.suite: each for each in read_results()}

PEERS = ("DOMPurify", "eth-account", "feedparser", "Kubo", "siwe", "viem")
LEAST_CASES = 100_000
LEAST_SEEDS = 10_000
LEAST_OPERATIONS, LEAST_KILLS = 100_000, 1_000
LEAST_FOUND = 0.9
"""Share of the generated faults that the tests must find."""


def count(result: Result, *names: str) -> int:
    return sum(result.counts[name] for name in names)


def test_every_result_is_of_a_commit_in_the_history():
    known = commit_times()
    assert {each.commit for each in RESULTS.values()} - known.keys() == set()


def test_no_finding_is_open():
    assert [each.suite for each in RESULTS.values() if each.found != "nothing"] == []


def test_the_audit_the_branches_and_the_secrets_have_results():
    assert {"Audit", "Branch coverage", "Secrets"} - RESULTS.keys() == set()


def test_the_comparisons_and_the_simulation_ran_at_full_length():
    cases = [sum(RESULTS[f"Differences from {peer}"].counts.values()) for peer in PEERS]
    assert min(cases) >= LEAST_CASES
    seeds = count(RESULTS["Simulation"], "seeds on SQLite", "seeds on PostgreSQL")
    assert seeds >= LEAST_SEEDS


def test_the_histories_ran_at_full_length():
    histories = RESULTS["Histories"]
    assert count(histories, "confirmed operations") >= LEAST_OPERATIONS
    assert count(histories, "kills") >= LEAST_KILLS


def test_all_generated_faults_were_tried_and_nearly_all_found():
    mutants = RESULTS["Mutants"]
    assert count(mutants, "tried") == count(mutants, "faults")
    found = [name for name in mutants.counts if name.startswith("found")]
    assert count(mutants, *found) >= LEAST_FOUND * count(mutants, "tried")
