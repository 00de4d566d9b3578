"""Misspellings: whether a name that is no setting was meant to be one."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from imprint.settings.secrets import PREVIOUS, Secret, find_dangers, find_doubts
from imprint.settings.setting import (
    FILE_SUFFIX,
    PREFIX,
    Setting,
    SettingsProblems,
    Unreadable,
    declared_in,
)
from imprint.settings.stores import PinataContent
from imprint.settings.values import GROUPS, SETTINGS, Settings

_LONG = 8
"""From how many characters on a name is long enough for two slips."""


def find_meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is a slip or two away from; None if there is none.

    A slip is a character too many, missing, wrong, or swapped with its neighbour.
    """
    allowed = 2 if len(name) >= _LONG else 1
    near = {each: count_slips(name, each) for each in known if abs(len(each) - len(name)) <= 2}
    best = min(near, key=lambda each: near[each], default=None)
    return best if best is not None and near[best] <= allowed else None


def count_slips(first: str, second: str) -> int:
    """How many slips lead from one text to the other."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        twice, before, row = before, row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != other)))
            if i > 1 and j > 1 and (one, first[i - 2]) == (second[j - 2], other):
                row[j] = min(row[j], twice[j - 2] + 1)
    return row[-1]


CONFIG_NAME = "IMPRINT_CONFIG"
"""The setting that names the TOML file; it can stand in the environment only."""

ReadFile = Callable[[Path], str]


@dataclass(slots=True)
class Texts:
    """The texts that were given, by the names of their settings, and what was wrong with others.

    `strangers` are names that are no settings.
    """

    given: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


def read_config(path: Path | None, environ: Mapping[str, str], read_file: ReadFile) -> Texts:
    """What the TOML file says; `path` wins over the one that the environment names."""
    texts = Texts()
    named = path or (Path(environ[CONFIG_NAME]) if environ.get(CONFIG_NAME) else None)
    if named is None:
        return texts
    try:
        table = tomllib.loads(read_file(named))
    except (OSError, UnicodeDecodeError) as error:
        texts.problems.append(f"The settings file {named} cannot be read: {_reason(error)}.")
    except tomllib.TOMLDecodeError as error:
        texts.problems.append(f"The settings file {named} is no TOML: {error}.")
    else:
        known = {each.key: each for each in SETTINGS}
        found = {key: _as_text(value) for key, value in table.items()}
        for key, value in found.items():
            if value is None:
                texts.problems.append(f"{key} in {named} must be a text, number, switch or list.")
        _sort_in(texts, {k: v for k, v in found.items() if v is not None}, known, read_file)
        # Nobody but the operator writes into this file: what it says is meant for us.
        texts.problems += [f"{each} is no setting." for each in texts.strangers]
        texts.strangers.clear()
    return texts


def read_environment(environ: Mapping[str, str], read_file: ReadFile) -> Texts:
    """What the environment says; only names that are nearly ours are problems.

    Others begin like ours by accident: where a service is called imprint, Kubernetes gives its
    neighbours names like IMPRINT_SERVICE_HOST.
    """
    texts = Texts()
    ours = {k: v for k, v in environ.items() if k.startswith(PREFIX) and k != CONFIG_NAME}
    _sort_in(texts, ours, {each.name: each for each in SETTINGS}, read_file)
    return texts


def _sort_in(
    texts: Texts, found: Mapping[str, str], known: Mapping[str, Setting], read_file: ReadFile
) -> None:
    for name, text in found.items():
        plain = name[: -len(FILE_SUFFIX)]
        if name in known:
            texts.given[known[name].name] = text.strip()
        elif name.upper().endswith(FILE_SUFFIX) and plain in known:
            if plain in found:
                texts.problems.append(f"{plain} and {name} are both given; give one of them.")
                continue
            try:
                texts.given[known[plain].name] = read_file(Path(text)).strip()
            except (OSError, UnicodeDecodeError, ValueError) as error:
                texts.problems.append(
                    f"{name} names the file {text}, which cannot be read: {_reason(error)}."
                )
        elif meant := _guess(name, known):
            texts.problems.append(f"{name} is no setting. Did you mean {meant}?")
        else:
            texts.strangers.append(name)


def _guess(name: str, known: Mapping[str, Setting]) -> str | None:
    """The name that was meant by this one, with the ending that says that it is of a file."""
    ending = name[-len(FILE_SUFFIX) :] if name.upper().endswith(FILE_SUFFIX) else ""
    # All names begin alike in the environment; how they begin must not make them look alike.
    start = PREFIX if name.startswith(PREFIX) else ""
    plain = {each.removeprefix(start): each for each in known}
    meant = find_meant(name.removeprefix(start).removesuffix(ending), plain)
    return None if meant is None else plain[meant] + ending


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list):
        texts = [_as_text(each) for each in value]
        return None if None in texts else ",".join(text for text in texts if text is not None)
    return None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "it is no UTF-8 text").lower()


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
