"""From what was given to the settings of a process: all problems are found before one is raised."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from imprint.settings.judging import PREVIOUS, find_dangers, find_doubts
from imprint.settings.problems import SettingsProblems, Unreadable
from imprint.settings.secrets import Secret
from imprint.settings.setting import declared_in
from imprint.settings.sources import ReadFile, read_config, read_environment
from imprint.settings.stores import PinataContent
from imprint.settings.value import GROUPS, SETTINGS, Settings

_LIMIT_SHOWN = 80
_IPV6 = re.compile(r"[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")


def read_file_text(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


def read_settings(
    environ: Mapping[str, str],
    config: Path | None = None,
    *,
    options: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    judge_secrets: bool = True,
    read_file: ReadFile = read_file_text,
) -> Settings:
    """The settings, from the strongest source to the weakest: `options` of the command line, the
    environment, the TOML file, `defaults` of the command, and the defaults of the settings.

    With `judge_secrets`, a secret that protects nothing is a problem; without, every one is taken.
    Raises `SettingsProblems` with everything that is wrong.
    """
    environment = read_environment(environ, read_file)
    table = read_config(config, environ, read_file)
    given = table.given | environment.given | dict(options or {})
    problems = environment.problems + table.problems
    texts = _fill(given, defaults or {})
    values = _read_values(texts, given, problems)
    secrets = _find_secrets(texts)
    problems += _find_strays(texts, secrets)
    warnings = [f"{name} is no setting and means nothing here." for name in environment.strangers]
    if judge_secrets:
        problems += find_dangers(secrets)
        warnings += find_doubts(secrets)
    if not problems:
        settings = _assemble(values, tuple(warnings))
        problems = _judge_together(settings)
    if problems:
        raise SettingsProblems(problems)
    return settings


def _fill(given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str | None]:
    """The text of every setting; an empty one counts as its own default."""
    texts: dict[str, str | None] = {}
    for each in SETTINGS:
        known = given[each.name] if each.name in given else defaults.get(each.name)
        texts[each.name] = known or each.default
    places = {name: _bracket(text or "") for name, text in texts.items()}
    return {
        name: text if given.get(name) or text is None else text.format_map(places)
        for name, text in texts.items()
    }


def _bracket(text: str) -> str:
    # An IPv6 address stands in brackets wherever a port may follow it.
    return f"[{text}]" if _IPV6.fullmatch(text) else text


def _read_values(
    texts: Mapping[str, str | None], given: Mapping[str, str], problems: list[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    derived: list[str] = []
    for each in SETTINGS:
        text = texts[each.name]
        if text is None:
            values[each.name] = None
            if each.required:
                problems.append(f"{each.name} is missing. {each.sentence}")
            continue
        try:
            values[each.name] = each.read(text)
        except Unreadable as error:
            shown = "" if each.secret else f" (it is '{_shorten(text)}')"
            (problems if each.name in given else derived).append(f"{each.name} {error}{shown}.")
    # What a default was made from has been named already, if it was wrong itself.
    problems += [] if problems else derived
    return values


def _assemble(values: Mapping[str, Any], warnings: tuple[str, ...]) -> Settings:
    built = {
        name: group(**{key: values[each.name] for key, each in declared_in(group).items()})
        for name, group in GROUPS.items()
    }
    return Settings(**built, warnings=warnings)


def _find_secrets(texts: Mapping[str, str | None]) -> dict[str, Secret]:
    # The key of Pinata is made by Pinata; how good it is is not ours to judge.
    kinds = ("_SECRET", "_ENCRYPTION_KEY")
    known = {each.name: texts[each.name] for each in SETTINGS if each.secret}
    return {
        name: Secret(text)
        for name, text in known.items()
        if text is not None and name.removesuffix(PREVIOUS).endswith(kinds)
    }


def _find_strays(texts: Mapping[str, str | None], secrets: Mapping[str, Secret]) -> list[str]:
    current = {name: name.removesuffix(PREVIOUS) for name in secrets}
    return [
        f"{name} is given without {plain}."
        for name, plain in current.items()
        if texts[plain] is None
    ]


def _judge_together(settings: Settings) -> list[str]:
    problems = []
    storage, server = settings.storage, settings.server
    needed = {
        "IMPRINT_PINATA_JWT": storage.pinata_jwt,
        "IMPRINT_PINATA_GATEWAY": storage.pinata_gateway,
    }
    missing = [name for name, given in needed.items() if given is None]
    if isinstance(storage.content, PinataContent) and missing:
        problems.append(f"Documents are kept at Pinata: {' and '.join(missing)} must be given.")
    problems += settings.encryption.judge(storage.content)
    if not settings.chain.rpc_urls:
        problems.append("IMPRINT_CHAIN_RPC_URL names no node.")
    if server.metrics_port and server.metrics_port == server.port:
        problems.append("IMPRINT_METRICS_PORT is the same as IMPRINT_PORT.")
    return problems


def _shorten(text: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= _LIMIT_SHOWN else printable[:_LIMIT_SHOWN] + "…"
