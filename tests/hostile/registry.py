"""The definition of an attack, and the observations made during it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tests.hostile.attacker import Attacker, Tally
from tests.hostile.honest_client import Sample

MAX_GROWTH_MEGABYTES = 200.0
MAX_P99_SECONDS = 1.0
MAX_RECOVERY_SECONDS = 5.0
"""Limits for every attack, set far above the measured cost: they are not a benchmark."""

FEWEST_READS = 100
"""The minimum number of reads during an attack for a meaningful p99."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack, its requirements, and checks beyond the bounds that apply to all attacks.

    `attacked` decides from a tally whether the attack took place, and `check` returns a sentence
    about a violation. `node_bytes` is the size of the node's responses about the newest post.
    `kept_open` is the number of connections that may stay open for a while. `texts` are published
    beforehand as free posts or, if `held`, as paid posts that the attacker buys.
    """

    name: str
    does: str
    bounded_by: str
    run: Callable[[Attacker], Awaitable[None]]
    attacked: Callable[[Tally], bool]
    seconds: float = 4.0
    settings: Mapping[str, str] = field(default_factory=dict)
    open_files: int | None = None
    postgresql: bool = False
    node_bytes: int = 0
    kept_open: int = 0
    texts: tuple[str, ...] = ()
    held: bool = False
    check: "Check | None" = None


@dataclass(slots=True)
class Observation:
    """The actions of an attack, and its effects on the service and the honest client.

    Pairs are values before and after the attack: open descriptors, requests to the node,
    and bytes stored. `starved` is the fraction of time in which the service was runnable
    but had to wait for a CPU.
    """

    attack: Attack
    tally: Tally = field(default_factory=Tally)
    began: float = 0.0
    ended: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    survived: bool = False
    growth: float = 0.0
    starved: float = 0.0
    recovery: float | None = None
    descriptors: tuple[int, int] = (0, 0)
    node: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}))
    stored: tuple[int, int] = (0, 0)
    log: str = ""

    @property
    def during(self) -> list[Sample]:
        """The honest client's requests during the attack."""
        return [each for each in self.samples if self.began <= each.ended and each.at <= self.ended]

    @property
    def reads(self) -> list[Sample]:
        return [each for each in self.during if not each.writes]

    @property
    def refusals(self) -> list[Sample]:
        """Requests of the honest client that were not served since the attack began."""
        return [each for each in self.samples if each.ended >= self.began and each.status != 200]

    def quantile(self, part: float) -> float:
        """The time in seconds within which this fraction of reads completed."""
        ordered = sorted(each.seconds for each in self.reads)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0

    @property
    def quiet_p99(self) -> float:
        """The 99th percentile of read times outside the attack, in seconds."""
        during = {id(each) for each in self.during}
        quiet = [each for each in self.samples if id(each) not in during and not each.writes]
        ordered = sorted(each.seconds for each in quiet)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] if ordered else 0.0

    @property
    def is_slow(self) -> bool:
        return self.quantile(0.99) > MAX_P99_SECONDS

    @property
    def is_late(self) -> bool:
        """Whether reads were slow or too few, or the service did not recover in time."""
        recovered = self.recovery is not None or not self.survived
        return self.is_slow or len(self.reads) < FEWEST_READS or not recovered

    @property
    def took_place(self) -> bool:
        """Whether the attack took place. On a busy machine, the attacker may get too little CPU
        time."""
        return self.attack.attacked(self.tally)

    def asked(self, figure: str) -> int:
        """How many requests of this kind the node received during the attack."""
        before, after = self.node
        return after.get(figure, 0) - before.get(figure, 0)

    @property
    def violations(self) -> list[str]:
        """Every violated bound, as a sentence."""
        p99 = self.quantile(0.99)
        before, after = self.descriptors
        rules = [
            (self.took_place, "The attack did not take place."),
            (self.survived, f"The service exited: {self.log}"),
            (self.growth <= MAX_GROWTH_MEGABYTES, f"Memory grew by {self.growth:.0f} MB."),
            (len(self.reads) >= FEWEST_READS, f"Only {len(self.reads)} reads were measured."),
            (
                not self.is_slow,
                f"The reader's p99 was {p99:.2f} s; the service waited {self.starved:.0%} of the"
                " time for a processor.",
            ),
            (
                not self.refusals,
                f"{len(self.refusals)} honest requests were refused, for example "
                f"{self.refusals[:3]}.",
            ),
            (
                self.recovery is not None,
                f"The service did not recover within {MAX_RECOVERY_SECONDS} s; {after} files are "
                f"open, {before} before.",
            ),
        ]
        broken = [sentence for holds, sentence in rules if not holds]
        if self.attack.check is not None and (sentence := self.attack.check(self)):
            broken.append(sentence)
        return broken


Check = Callable[[Observation], str]
"""A check beyond the bounds that apply to every attack. It returns a sentence if a bound is
violated, otherwise an empty string."""
