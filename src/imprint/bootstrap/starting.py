"""Why a service does not start."""


class CannotStart(Exception):
    """The service must not start; the text tells the operator why."""
