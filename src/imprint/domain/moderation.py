"""The operator's moderation measures, and the rules that decide which one applies to a post."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Refusal, Withheld
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.indexed_posts import IndexedPost

MAX_STATEMENT = 2_000
"""Maximum number of characters in a statement."""


class Measure(StrEnum):
    """A moderation measure that the operator takes on a target. `undone` lifts earlier measures."""

    UNLISTED = "unlisted"
    WITHHELD = "withheld"
    REFUSED = "refused"
    ALLOWED = "allowed"
    UNDONE = "undone"


ERASED = "Erased at the request of its author."
"""The statement of the moderation measure that an erasure adds."""


class TargetKind(StrEnum):
    """The type of target that a measure applies to."""

    POST = "post"
    AUTHOR = "author"
    CID = "cid"
    TAG = "tag"


class Ground(StrEnum):
    """The reason for a measure, which is either the law or the service's rules."""

    LEGAL = "legal"
    POLICY = "policy"


class Show(StrEnum):
    """Selects the posts that appear in lists. Posts hidden by a measure never appear."""

    ALL = "all"
    HOSTED = "hosted"
    ALLOWED = "allowed"


FOR_AUTHORS = frozenset({Measure.REFUSED, Measure.ALLOWED})
"""Measures whose target can only be an author."""


@dataclass(frozen=True, slots=True)
class Target:
    """A post, an author, a document or a hashtag, identified by its canonical text."""

    kind: TargetKind
    value: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the operator about a target. The log contains all decisions."""

    target: Target
    measure: Measure
    ground: Ground
    statement: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision in the log, with its number."""

    number: int
    decision: Decision

    @property
    def record(self) -> dict[str, str | int]:
        """The decision in the form used in exports of the log."""
        decision = self.decision
        return {
            "number": self.number,
            "at": format_instant(decision.at),
            "measure": decision.measure.value,
            "kind": decision.target.kind.value,
            "target": decision.target.value,
            "ground": decision.ground.value,
            "statement": decision.statement,
        }


def read_decision(record: Mapping[str, object]) -> LoggedDecision:
    """Parse the decision in a record of an exported log. Raises `ValueError`."""
    names = ("at", "measure", "kind", "target", "ground", "statement")
    values = {name: record.get(name) for name in names}
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    number = record.get("number")
    if len(texts) < len(values) or not isinstance(number, int):
        raise ValueError("A decision lacks a member.")
    at = datetime.strptime(texts["at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    target = Target(TargetKind(texts["kind"]), texts["target"])
    measure, ground = Measure(texts["measure"]), Ground(texts["ground"])
    return LoggedDecision(number, Decision(target, measure, ground, texts["statement"], at))


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures that are in force after the decisions up to `number`."""

    number: int = 0
    of_targets: Mapping[Target, Mapping[Measure, Decision]] = field(default_factory=dict)
    withholds: bool = False
    """Whether any measure withholds a target."""
    on_tags: bool = False
    """Whether any measure applies to a hashtag."""

    def after(self, logged: Iterable[LoggedDecision]) -> "Measures":
        """Return the measures in force after further decisions, which must be in log order."""
        of_targets, number = dict(self.of_targets), self.number
        for each in logged:
            decision, number = each.decision, each.number
            if decision.measure is Measure.UNDONE:
                of_targets.pop(decision.target, None)
            else:
                known = of_targets.get(decision.target, {})
                of_targets[decision.target] = {**known, decision.measure: decision}
        withholds = any(Measure.WITHHELD in each for each in of_targets.values())
        on_tags = any(target.kind is TargetKind.TAG for target in of_targets)
        return Measures(number, of_targets, withholds, on_tags)

    def on(self, target: Target) -> Mapping[Measure, Decision]:
        """Return the measures on exactly this target."""
        return self.of_targets.get(target, {})

    def on_post(self, post: IndexedPost, tags: Iterable[str] = ()) -> Decision | None:
        """Return the strictest measure that hides a post, if any. `tags` adds its file's tags."""
        hashtags = {*post.hashtags, *tags}
        return self._strictest(post_targets(post.post_id, post.author, post.cid, hashtags))

    def on_file(self, file: File, tags: Iterable[str] = ()) -> Decision | None:
        """Return the strictest measure that hides a file, if any. `tags` adds its post's tags."""
        post_id = None if file.publication is None else file.publication.post_id
        hashtags = {*file.hashtags, *tags}
        return self._strictest(post_targets(post_id, file.owner, file.cid, hashtags))

    def on_author(self, author: Address) -> Decision | None:
        """Return the strictest measure that hides an author, if any."""
        return self._strictest([Target(TargetKind.AUTHOR, author)])

    def on_cid(self, cid: str) -> Decision | None:
        """Return the strictest measure that hides a document, if any."""
        return self._strictest([Target(TargetKind.CID, cid)])

    def on_any(self, targets: Iterable[Target]) -> Decision | None:
        """Return the strictest measure that hides any of these targets, if there is one."""
        return self._strictest(targets)

    def refuses(self, author: Address) -> bool:
        """Whether signed writes of an author are refused."""
        return Measure.REFUSED in self.on(Target(TargetKind.AUTHOR, author))

    def allows(self, author: Address) -> bool:
        """Whether the operator has allowed an author. Some services show only allowed authors."""
        return Measure.ALLOWED in self.on(Target(TargetKind.AUTHOR, author))

    def _strictest(self, targets: Iterable[Target]) -> Decision | None:
        found = [
            decision
            for target in targets
            for decision in self.on(target).values()
            if decision.measure in _HIDING
        ]
        return max(found, key=_strictness, default=None)


_HIDING = (Measure.UNLISTED, Measure.WITHHELD)


def _strictness(decision: Decision) -> tuple[bool, bool, float]:
    """Return the sort key: withheld before unlisted, legal reasons before rules, oldest first."""
    return (
        decision.measure is Measure.WITHHELD,
        decision.ground is Ground.LEGAL,
        -decision.at.timestamp(),
    )


def post_targets(
    post_id: int | None, author: Address, cid: str, hashtags: Iterable[str]
) -> list[Target]:
    """Return the targets whose measures apply to a post."""
    targets = [Target(TargetKind.AUTHOR, author), Target(TargetKind.CID, cid)]
    targets += [Target(TargetKind.TAG, tag) for tag in hashtags]
    if post_id is not None:
        targets.append(Target(TargetKind.POST, str(post_id)))
    return targets


def refuse_withheld(decision: Decision | None) -> None:
    """Refuse with `withheld` or `removed` if a decision withholds the post or document."""
    if decision is None or decision.measure is not Measure.WITHHELD:
        return
    code = Code.WITHHELD if decision.ground is Ground.LEGAL else Code.REMOVED
    raise Withheld(code, decision.statement, decision.at)


def author_refused() -> Refusal:
    """Return the refusal for an author from whom the operator accepts no writes."""
    return Refusal(Code.AUTHOR_REFUSED, "The operator of this service refuses your writes.")


class ReportReason(StrEnum):
    """The reason why a reader reports a post."""

    ILLEGAL = "illegal"
    COPYRIGHT = "copyright"
    ABUSE = "abuse"
    SPAM = "spam"
    OTHER = "other"


MAX_REPORT_TEXT = 2_000
"""Maximum number of characters in the text of a report."""

MAX_CONTACT = 200
"""Maximum number of characters in the contact of a report."""

MAX_REPORTS = 10_000
"""Maximum number of stored reports.

The oldest closed reports are dropped first, then the reports of the post that has the most reports.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A report of a post, which only the operator sees."""

    id: str
    post_id: int
    reason: ReportReason
    text: str
    contact: str
    at: datetime
    closed_at: datetime | None = None
