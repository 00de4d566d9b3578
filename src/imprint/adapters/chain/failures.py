"""How asking a node can fail, in words that are fit for a log."""

from imprint.domain.refusals import Unavailable


class NodeFailure(Exception):
    """One node did not serve; the text says how, and quotes neither the node nor its address."""


class ChainMisconfigured(Unavailable):
    """The node answers, but not for the configured chain or contract; `sentence` tells people so.

    Whoever only asks for posts sees a chain that cannot be asked; starting up prints the sentence.
    """

    def __init__(self, sentence: str) -> None:
        nothing_said = Unavailable.chain()
        super().__init__(nothing_said.code, nothing_said.detail)
        self.sentence = sentence


def check_chain_id(found: int, configured: int) -> None:
    """Raise `ChainMisconfigured` if the node is on another chain."""
    if found != configured:
        raise ChainMisconfigured(
            f"The node is on chain {found}, but chain {configured} is configured."
        )
