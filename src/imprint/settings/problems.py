"""What is wrong with the settings, in words for the person who wrote them."""


class Unreadable(ValueError):
    """A text is no value of its setting; the message ends a sentence that begins with its name."""


class SettingsProblems(Exception):
    """Everything that is wrong with the settings, all at once, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
