"""Samples: the metrics of one process, and how those of all processes are merged."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
from prometheus_client import REGISTRY, CollectorRegistry, Gauge, Metric
from prometheus_client.registry import Collector

from imprint.metrics import LEAST, SUMMED

_ADDED = frozenset({"counter", "histogram", "summary"})
"""Types that are summed over all processes, past and present."""

_CREATED = "_created"
"""The suffix of samples with the creation time of a counter, which is meaningless for a sum."""

Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, array_like=True, frozen=True):
    """A metric of one process, with all its samples: name, labels and value."""

    name: str
    documentation: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


_families = msgspec.msgpack.Decoder(list[Family])


def read_samples(registry: CollectorRegistry = REGISTRY) -> list[Family]:
    """The current values of the metrics of this process."""
    return [
        Family(
            each.name,
            each.documentation,
            each.type,
            [
                (sample.name, dict(sample.labels), sample.value)
                for sample in each.samples
                if not sample.name.endswith(_CREATED)
            ],
        )
        for each in registry.collect()
    ]


def set_value(gauge: Gauge, value: float) -> list[Family]:
    """A gauge without labels, whose value no process reports."""
    return [
        Family(each.name, each.documentation, each.type, [(each.name, {}, value)])
        for each in gauge.describe()
    ]


def encode_samples() -> bytes:
    """The metrics of this process, encoded for the supervisor."""
    return msgspec.msgpack.encode(read_samples())


def decode_samples(body: bytes) -> list[Family]:
    """Decode what `encode_samples` encoded. Raises `msgspec.DecodeError`."""
    return _families.decode(body)


@dataclass(slots=True)
class MergedSamples(Collector):
    """The metrics of several processes as one collector.

    Samples that are no longer `current`, because their process has ended or does not respond, count
    only in sums: so a counter never falls.
    """

    _metrics: dict[str, Metric] = field(default_factory=dict)
    _values: dict[str, dict[tuple[str, Labels], float]] = field(default_factory=dict)

    def add(self, families: Iterable[Family], *, current: bool = True) -> None:
        """Add the samples of one process."""
        for family in families:
            rule = _rule_of(family)
            if not current and rule is not _sum_of_all:
                continue
            if family.name not in self._metrics:
                metric = Metric(family.name, family.documentation, family.type)
                self._metrics[family.name], self._values[family.name] = metric, {}
            values = self._values[family.name]
            for name, labels, value in family.samples:
                if not math.isnan(value):
                    key = name, tuple(labels.items())
                    values[key] = rule(values[key], value) if key in values else value

    def families(self) -> list[Family]:
        """The merged samples, like those of one process."""
        return [
            Family(
                metric.name,
                metric.documentation,
                metric.type,
                [(name, dict(labels), value) for (name, labels), value in values.items()],
            )
            for metric, values in zip(self._metrics.values(), self._values.values(), strict=True)
        ]

    def collect(self) -> Iterator[Metric]:
        """The merged metrics, for a Prometheus encoder."""
        for name, metric in sorted(self._metrics.items()):
            metric.samples.clear()
            for (sample, labels), value in self._values[name].items():
                metric.add_sample(sample, dict(labels), value)
            if metric.samples or metric.type in _ADDED:
                yield metric


def _rule_of(family: Family) -> Callable[[float, float], float]:
    """How two values of this metric are merged."""
    if family.type in _ADDED:
        return _sum_of_all
    if family.name in SUMMED:
        return _sum
    return min if family.name in LEAST else max


def _sum_of_all(one: float, other: float) -> float:
    return one + other


def _sum(one: float, other: float) -> float:
    return one + other
