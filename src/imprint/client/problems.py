"""What can go wrong between a client and the service.

Exception
├── Refusal         the service said no; act upon `code`, and show `detail` to people
├── Unreachable     no response, or one that is not Imprint's; it may work later
├── Unconfirmed     a save may have taken effect; look for the draft before saving anew
├── WalletNeeded    the writing session has ended: the wallet has to open another one
├── NodeError       the chain's node said no, or did not respond
└── Reverted        the transaction is in a block and had no effect
"""

from imprint.interface.problems import Problem


class Refusal(Exception):
    """The service refused. Programs branch on `code`, one of `Code`; later versions add codes."""

    def __init__(self, problem: Problem, retry_after: int | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """The stable name of the problem."""
        return self.problem.code

    @property
    def status(self) -> int:
        """The status of the response."""
        return self.problem.status

    @property
    def detail(self) -> str:
        """What is wrong, for people."""
        return self.problem.detail


class Unreachable(Exception):
    """The service did not respond, or something else responded instead.

    `status` and `retry_after` are those of whatever responded, if anything did.
    """

    def __init__(
        self, sentence: str, status: int | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.retry_after = retry_after


class Unconfirmed(Exception):
    """A save may have taken effect: its response was lost, and its signature is too old by now.

    Look for the draft before saving anew. Its cause is the refusal `signature_stale`.
    """


class WalletNeeded(Exception):
    """The key of a writing session is not, or no longer, valid: the wallet has to sign again.

    Its cause is the refusal: `writing_session_expired` or `writing_session_invalid`.
    """


class NodeError(Exception):
    """The chain's node refused a call, or did not respond."""


class Reverted(Exception):
    """The contract refused the transaction: it is in a block, and changed nothing."""
