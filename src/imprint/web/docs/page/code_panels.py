"""Blocks of code on the docs page, and the same request in three languages to choose from."""

from collections.abc import Mapping
from typing import Any

from imprint.web.docs.page.client_examples import python_example, typescript_example
from imprint.web.docs.page.commands import curl_command, delivery_command, is_delivery
from imprint.web.docs.page.html import Markup, element, join, render_code

LANGUAGES = {"curl": "curl", "typescript": "TypeScript", "python": "Python"}
"""Languages by the values of their inputs, in the order in which they are shown."""

Json = Mapping[str, Any]


def code_block(source: str) -> Markup:
    """Code that can be scrolled by keyboard; the script adds a button that copies it."""
    shown = source if isinstance(source, Markup) else render_code(source)
    return element("div", element("pre", shown, tabindex="0"), class_="code")


def request_panels(method: str, path: str, operation: Json) -> Markup:
    """The request in every language that has a client; radio buttons choose one."""
    if is_delivery(operation):
        return code_block(delivery_command(path, operation))
    sources = {
        "curl": curl_command(method, path, operation),
        "typescript": typescript_example(operation),
        "python": python_example(operation),
    }
    name = operation["operationId"]
    choices = [_choice(f"{name}-language", language) for language in sources]
    panels = [
        element("div", code_block(source), class_=f"panel {language}")
        for language, source in sources.items()
    ]
    legend = element("legend", "Language", class_="unseen")
    return element(
        "div",
        element("fieldset", legend, *choices, class_="languages"),
        *panels,
        class_="panels",
    )


def _choice(group: str, language: str) -> Markup:
    checked = " checked" if language == "curl" else ""
    field = Markup(f'<input type="radio" name="{group}" value="{language}"{checked}>')
    return element("label", join([field, LANGUAGES[language]]))
