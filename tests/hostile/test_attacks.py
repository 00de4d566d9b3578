"""No attack stops the service: an honest client at another address is not affected."""

import pytest
from tests.hostile.attacks import ATTACKS
from tests.hostile.installation import Installation
from tests.hostile.registry import Attack, Observation
from tests.hostile.table import write_rows
from tests.hostile.trial import ROOT, try_attack


def test_every_attack_is_documented():
    page = (ROOT / "docs" / "hostile-clients.md").read_text(encoding="utf-8")
    table = page.partition("<!-- attacks: begin -->")[2].partition("<!-- attacks: end -->")[0]
    assert table.strip() == write_rows(ATTACKS)


@pytest.mark.rotates
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_does_not_stop_other_clients(
    attack: Attack,
    installation: Installation,
    observations: list[Observation],
    request: pytest.FixtureRequest,
) -> None:
    postgresql = request.getfixturevalue("postgresql") if attack.postgresql else None
    seen = try_attack(installation, attack, postgresql)
    observations.append(seen)
    if broken := seen.violations:
        pytest.fail("\n".join([*broken, str(seen.tally)]), pytrace=False)
