"""The bounded cache: it holds the newest entries that fit its capacity."""

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.bounded_cache import BoundedCache


def cache_of(capacity: int, *texts: str) -> BoundedCache[str, str]:
    """Create a cache of texts, keyed by first character and weighted by length."""
    cache: BoundedCache[str, str] = BoundedCache(capacity, len)
    for text in texts:
        cache.put(text[0], text)
    return cache


def test_each_entry_counts_as_one_and_the_oldest_is_evicted() -> None:
    cache: BoundedCache[int, None] = BoundedCache(3)
    assert [list(cache.put(number, None)) for number in range(5)] == [[], [], [], [0], [1]]
    assert list(cache) == [2, 3, 4]
    assert (len(cache), cache.weight) == (3, 3)


def test_reading_an_entry_does_not_renew_it_but_touching_does() -> None:
    cache = cache_of(3, "a", "b", "c")
    assert cache.get("a") == "a"
    cache.touch("b")
    cache.put("d", "d")
    assert list(cache) == ["c", "b", "d"]


def test_a_missing_key_has_the_default_and_cannot_be_touched() -> None:
    cache = cache_of(3)
    assert (cache.get("a"), cache.get("a", "default")) == (None, "default")
    with pytest.raises(KeyError):
        cache.touch("a")


def test_a_value_that_is_put_again_becomes_the_newest() -> None:
    cache = cache_of(3, "a", "b", "c", "a")
    cache.put("d", "d")
    assert list(cache) == ["c", "a", "d"]


def test_a_heavy_value_evicts_as_many_entries_as_needed() -> None:
    cache = cache_of(10, "aaa", "bbb", "ccc")
    assert cache.put("d", "ddddd") == ["a", "b"]
    assert cache.weight == 8


def test_a_replaced_value_no_longer_counts_towards_the_weight() -> None:
    cache = cache_of(10, "aaaaaaaa", "aa", "bbbbbbbb")
    assert (list(cache), cache.weight) == (["a", "b"], 10)


def test_a_value_above_the_capacity_removes_its_predecessor_and_no_other() -> None:
    cache = cache_of(10, "aaa", "bbb")
    assert cache.put("a", "a" * 11) == ()
    assert (list(cache), cache.weight) == (["b"], 3)


def test_a_cache_with_zero_capacity_holds_nothing() -> None:
    assert list(cache_of(0, "a", "b")) == []


def test_a_removed_value_no_longer_counts_towards_the_weight() -> None:
    cache = cache_of(10, "aaa", "bbb")
    assert (cache.pop("a"), cache.pop("a"), cache.weight) == ("aaa", None, 3)
    cache.clear()
    assert (len(cache), cache.weight, cache.get("b")) == (0, 0, None)


def test_none_can_be_stored_as_a_value() -> None:
    cache: BoundedCache[str, None] = BoundedCache(2)
    cache.put("a", None)
    assert "a" in cache
    assert cache.get("a", "default") is None
    cache.pop("a")
    assert (len(cache), cache.weight) == (0, 0)


CALLS = st.tuples(st.sampled_from(["put", "pop", "touch"]), st.integers(0, 4), st.integers(0, 6))


@given(st.lists(CALLS, max_size=60))
def test_the_cache_matches_a_simple_model(calls: list[tuple[str, int, int]]) -> None:
    cache: BoundedCache[int, int] = BoundedCache(5, lambda weight: weight)
    model: OrderedDict[int, int] = OrderedDict()
    for call, key, weight in calls:
        before = list(model)
        if call == "put":
            model.pop(key, None)
            if weight <= 5:
                model[key] = weight
            while sum(model.values()) > 5:
                model.popitem(last=False)
            gone = [each for each in before if each != key and each not in model]
            assert list(cache.put(key, weight)) == gone
        elif call == "pop":
            assert cache.pop(key) == model.pop(key, None)
        elif key in model:
            model.move_to_end(key)
            cache.touch(key)
        assert [(each, cache.get(each)) for each in cache] == list(model.items())
        assert cache.weight == sum(model.values())
