"""The service and viem agree on signatures of every type, except for listed differences."""

import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from tests.anvil.client import LOGIN_DOMAIN, Client, RunningClock
from tests.anvil.conftest import MakeService
from tests.anvil.node import CHAIN_ID, Anvil, running
from tests.anvil.signature_corpus import DIFFERENCES, Kind, build_kinds
from tests.anvil.signature_questions import (
    CID,
    SECONDS,
    SERVICE,
    Question,
    ask,
    ask_login,
    ask_write,
)
from tests.anvil.wallet_client import send, to_text
from tests.anvil.wallets import WalletContracts
from tests.processes import Service
from tests.world import problem

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.signatures import Unproved
from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.cids import Cid

SEED = 1271
OF_EACH_KIND = 6
LEAST = 500
"""The minimum number of signatures to compare."""

NOW = datetime.fromtimestamp(SECONDS, UTC)
VERIFIER = Path(__file__).parent / "verify_signatures.mjs"


@dataclass(frozen=True, slots=True)
class Case:
    """One signature of a given type."""

    kind: Kind
    question: Question
    signature: str


@dataclass(frozen=True, slots=True)
class Adapter:
    """The service without HTTP: the signature verifiers, and wallets checked through a node."""

    wallets: JsonRpcContractWallets

    async def accepts(self, case: Case) -> bool:
        """Return whether the signature is valid for its message."""
        try:
            proof = self._verify(case)
        except Refusal as refusal:
            if refusal.code is not Code.SIGNATURE_INVALID:
                raise
            return False
        if isinstance(proof, Unproved):
            return await self.wallets.accepts(proof.signer, proof.digest, proof.signature)
        return True

    def _verify(self, case: Case) -> object:
        address, question = case.kind.address, case.question
        if question.envelope is None:
            login = LoginClaim(question.text, address, case.signature)
            return LoginVerifier([LOGIN_DOMAIN], CHAIN_ID).verify(login, NOW)
        action = Action(question.action)
        write = TypedDataClaim(question.envelope, address, case.signature)
        cid = None if action is Action.CREATE else Cid(CID)
        domain = SigningDomain("Imprint", "1", CHAIN_ID)
        return WriteVerifier(domain, SERVICE).verify(write, action, NOW, cid)


@pytest.fixture
def anvil(tmp_path: Path, artifact: dict[str, Any]) -> Iterator[Anvil]:
    """A chain that supports EIP-7702 delegation but has no passkey precompile yet."""
    with running(Anvil(tmp_path, ["--hardfork", "prague"]), artifact) as node:
        yield node


@pytest.fixture
def contracts(anvil: Anvil) -> WalletContracts:
    return WalletContracts.deploy(anvil)


@pytest.fixture
async def adapter(anvil: Anvil) -> AsyncIterator[Adapter]:
    rpc = JsonRpc([anvil.url])
    calls = BlockCalls(rpc, CHAIN_ID, RunningClock())
    # A slow machine takes its time; the timeout of a wallet is tested elsewhere.
    yield Adapter(JsonRpcContractWallets(calls, timeout=60))
    await rpc.close()


@pytest.fixture
def service(make_service: MakeService) -> Service:
    opened = make_service(RATE_LIMITS="off", PUBLIC_URL=SERVICE)
    opened.start()
    return opened


def ask_viem(anvil: Anvil, cases: Sequence[Case]) -> list[bool]:
    """Return viem's verdict on each case."""
    lines = [
        json.dumps(
            {
                "address": case.kind.address,
                "text": case.question.text,
                "envelope": case.question.envelope,
                "signature": case.signature,
            }
        )
        for case in cases
    ]
    command = ["node", str(VERIFIER), anvil.url]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line == "true" for line in done.stdout.splitlines()]


async def test_viem_and_the_service_give_the_expected_verdicts(
    contracts: WalletContracts, adapter: Adapter
) -> None:
    rng = Random(SEED)
    kinds = build_kinds(contracts, rng)
    cases = []
    for kind in kinds:
        for _ in range(OF_EACH_KIND):
            question = ask(kind.address, rng)
            cases.append(Case(kind, question, to_text(kind.sign(question, rng))))
    assert len({case.kind.name for case in cases}) == len(kinds)
    assert len(cases) >= LEAST

    said = ask_viem(contracts.anvil, cases)
    wrong = [
        f"{case.kind.name}: viem says {verdict} about {case.signature[:80]}"
        for case, verdict in zip(cases, said, strict=True)
        if verdict is not case.kind.valid
    ]
    assert not wrong, "\n".join(wrong)

    differences: Counter[str] = Counter()
    for case, verdict in zip(cases, said, strict=True):
        accepted = await adapter.accepts(case)
        assert accepted is case.kind.accepted, f"{case.kind.name}: {case.signature[:80]}"
        if accepted is not verdict:
            differences[case.kind.difference] += 1
    listed = Counter(kind.difference for kind in kinds if kind.difference)
    assert differences == {reason: listed[reason] * OF_EACH_KIND for reason in DIFFERENCES}


def test_the_service_gives_the_same_verdicts_over_http(
    contracts: WalletContracts, client: Client
) -> None:
    rng = Random(SEED)
    for kind in build_kinds(contracts, rng):
        issued = RunningClock().now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        login = ask_login(kind.address, rng.randbytes(8).hex(), issued)
        said = {"salt": login.text, "signature": to_text(kind.sign(login, rng))}
        check(kind, send(client, "/auth/login", json={"address": kind.address, **said}))

        form, content = rng.choice(["imprint-1", "imprint-2"]), rng.randbytes(8).hex()
        write = ask_write("create", form, content, RunningClock().seconds)
        body = {"salt": write.envelope, "signature": to_text(kind.sign(write, rng))}
        body |= {"address": kind.address, "content": content}
        check(kind, send(client, "/create/group", json=body))


def check(kind: Kind, response: httpx2.Response) -> None:
    """Check that a request is accepted or refused as its signature requires."""
    if kind.accepted:
        assert response.status_code == 200, f"{kind.name}: {response.text}"
    else:
        assert problem(response) == (401, "signature_invalid"), kind.name
