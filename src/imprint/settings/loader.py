"""Reads the settings of a process from the command line, the environment and a TOML file."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from imprint.settings.declaration import (
    FILE_SUFFIX,
    PREFIX,
    InvalidSetting,
    Setting,
    SettingsProblems,
    declared_in,
)
from imprint.settings.publication import Publication
from imprint.settings.secrets import PREVIOUS, Secret, find_problems, find_warnings, secret_parts
from imprint.settings.stores import PinataContent, is_exposed
from imprint.settings.values import COMPATIBLE, GROUPS, SETTINGS, Settings

CONFIG_NAME = "IMPRINT_CONFIG"
"""The variable that names the TOML file, which is read only from the environment."""

LONG_NAME = 8
"""Minimum length of names that may differ from the intended name by two edits."""

_LONGEST_QUOTE = 80
_IPV6 = re.compile(r"[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")


def read_settings(
    environ: Mapping[str, str],
    config: Path | None = None,
    *,
    options: Mapping[str, str | None] | None = None,
    defaults: Mapping[str, str] | None = None,
    check_secrets: bool = True,
) -> Settings:
    """Read the settings from all sources.

    Sources take precedence in this order: `options` of the command line (None means not given), the
    environment, the TOML file, `defaults` of the command, declared defaults.

    Without `check_secrets`, weak secrets are accepted. Raises `SettingsProblems` with all
    problems.
    """
    environment = _read_environment(environ)
    table = _read_config(config, environ)
    chosen = {name: text for name, text in (options or {}).items() if text is not None}
    # An empty variable replaces defaults of the command, but not what the file says.
    from_environment = {
        name: text for name, text in environment.given.items() if text or name not in table.given
    }
    given = table.given | from_environment | chosen
    problems = environment.problems + table.problems
    texts = _fill(given, _compatible(given, defaults or {}))
    values = _parse(texts, given, problems)
    secrets = _find_secrets(texts)
    problems += _find_lone_previous(texts, secrets)
    problems += _check_publication(values)
    warnings = [f"{name} is not a setting and is ignored." for name in environment.unknown]
    if check_secrets:
        problems += find_problems(secrets)
        warnings += find_warnings(secrets)
    if not problems:
        settings = _assemble(values, tuple(warnings))
        problems = _find_contradictions(settings)
    if problems:
        raise SettingsProblems(problems)
    return settings


@dataclass(slots=True)
class _Source:
    """The texts that a source provides, by setting name, with its problems and unknown names."""

    given: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def _read_environment(environ: Mapping[str, str]) -> _Source:
    # An unknown name is a problem only if it looks misspelled. Other names share our prefix by
    # accident: for a service named imprint, Kubernetes sets names like IMPRINT_SERVICE_HOST.
    ours = {k: v for k, v in environ.items() if k.startswith(PREFIX) and k != CONFIG_NAME}
    return _match_names(ours, {each.name: each for each in SETTINGS})


def _read_config(path: Path | None, environ: Mapping[str, str]) -> _Source:
    """Read the TOML file. `path` takes precedence over the one named by the environment."""
    named = path or (Path(environ[CONFIG_NAME]) if environ.get(CONFIG_NAME) else None)
    if named is None:
        return _Source()
    try:
        table = tomllib.loads(_read_file(named))
    except (OSError, UnicodeDecodeError) as error:
        return _Source(problems=[f"The settings file {named} cannot be read: {_describe(error)}."])
    except tomllib.TOMLDecodeError as error:
        return _Source(problems=[f"The settings file {named} is not TOML: {error}."])
    flat, twice = _flatten(table)
    texts = {key: _as_text(value) for key, value in flat.items()}
    readable = {key: text for key, text in texts.items() if text is not None}
    source = _match_names(readable, {each.key: each for each in SETTINGS})
    source.problems[:0] = [
        *(f"{key} is given twice in {named}." for key in twice),
        *(
            f"{key} in {named} must be a text, number, switch or list."
            for key, text in texts.items()
            if text is None
        ),
    ]
    # Only the operator writes this file, so an unknown name in it is a mistake.
    source.problems += [f"{name} is not a setting." for name in source.unknown]
    return source


def _flatten(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings in a file and the names that occur twice.

    Settings in a table `[publication]` are prefixed with its name.
    """
    known = {each.key for each in SETTINGS}
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and key not in known:
            pairs += [(f"{key}_{inner}", each) for inner, each in value.items()]
        else:
            pairs.append((key, value))
    counted = Counter(key for key, _ in pairs)
    return dict(pairs), [key for key, count in counted.items() if count > 1]


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list):
        texts = [_as_text(each) for each in value]
        return None if None in texts else ",".join(text for text in texts if text is not None)
    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        # Link labels and their targets.
        return ",".join(f"{label} {address}" for label, address in value.items())
    return None


def _match_names(found: Mapping[str, str], known: Mapping[str, Setting]) -> _Source:
    """Return the texts under valid names. The suffix `_FILE` means that the text is read from a
    file."""
    source = _Source()
    for name, text in found.items():
        plain = name[: -len(FILE_SUFFIX)]
        if name in known:
            # If a file has given the text already, this one is empty.
            source.given.setdefault(known[name].name, text.strip())
        elif name.upper().endswith(FILE_SUFFIX) and plain in known:
            if not text.strip():
                continue
            if found.get(plain, "").strip():
                source.problems.append(f"{plain} and {name} are both set; set only one of them.")
                continue
            try:
                source.given[known[plain].name] = _read_file(Path(text)).strip()
            except (OSError, ValueError) as error:
                source.problems.append(
                    f"{name} names the file {text}, which cannot be read: {_describe(error)}."
                )
        elif meant := _suggest(name, known):
            source.problems.append(f"{name} is not a setting. Did you mean {meant}?")
        else:
            source.unknown.append(name)
    return source


def _read_file(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _describe(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "it is not UTF-8").lower()


def _suggest(name: str, known: Iterable[str]) -> str | None:
    """Return the valid name that was probably meant, with the suffix `_FILE` if the name had it."""
    suffix = name[-len(FILE_SUFFIX) :] if name.upper().endswith(FILE_SUFFIX) else ""
    # The common prefix would make all names in the environment look alike.
    prefix = PREFIX if name.startswith(PREFIX) else ""
    plain = {each.removeprefix(prefix): each for each in known}
    closest = closest_name(name.removeprefix(prefix).removesuffix(suffix), plain)
    return None if closest is None else plain[closest] + suffix


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the valid name with the smallest edit distance, at most 2 (1 for short names).

    Returns None if there is no such name. `difflib` is unsuitable, because it rates HOTS and HOST
    as alike as SERVICE_PORT and METRICS_PORT.
    """
    distances = {each: edit_distance(name, each) for each in known}
    closest = min(distances, key=lambda each: distances[each], default=None)
    allowed = 2 if len(name) >= LONG_NAME else 1
    return closest if closest is not None and distances[closest] <= allowed else None


def edit_distance(first: str, second: str) -> int:
    """Return the number of insertions, deletions, substitutions and swaps between two names."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        before_last, before, row = before, row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != other)))
            if i > 1 and j > 1 and (one, first[i - 2]) == (second[j - 2], other):
                row[j] = min(row[j], before_last[j - 2] + 1)
    return row[-1]


def _compatible(given: Mapping[str, str], defaults: Mapping[str, str]) -> Mapping[str, str]:
    """Return the defaults of a command, overridden by those for IMPRINT_COMPATIBILITY."""
    name = "IMPRINT_COMPATIBILITY"
    chosen = given.get(name) or defaults.get(name, "")
    return {**defaults, **COMPATIBLE.get(chosen.lower(), {})}


def _fill(given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str | None]:
    """Return the text of every setting. An empty text means the declared default."""
    texts: dict[str, str | None] = {}
    for each in SETTINGS:
        text = given[each.name] if each.name in given else defaults.get(each.name)
        texts[each.name] = text or each.default
    references = {name: _bracket(text or "") for name, text in texts.items()}
    return {
        name: text if given.get(name) or text is None else text.format_map(references)
        for name, text in texts.items()
    }


def _bracket(text: str) -> str:
    # Defaults append a port, and an IPv6 address before a port needs brackets.
    return f"[{text}]" if _IPV6.fullmatch(text) else text


def _parse(
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
            values[each.name] = each.parse(text)
        except InvalidSetting as error:
            quote = "" if each.secret else f" (it is '{_shorten(text)}')"
            (problems if each.name in given else derived).append(f"{each.name} {error}{quote}.")
    # A default that refers to an invalid setting is invalid, too. Reporting the setting suffices.
    problems += [] if problems else derived
    return values


def _shorten(text: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= _LONGEST_QUOTE else printable[:_LONGEST_QUOTE] + "…"


def _find_secrets(texts: Mapping[str, str | None]) -> dict[str, Secret]:
    # Pinata issues its own key, so its strength is not checked.
    kinds = ("_SECRET", "_ENCRYPTION_KEY")
    known = {each.name: texts[each.name] for each in SETTINGS if each.secret}
    return {
        name: Secret(text)
        for name, text in known.items()
        if text is not None and name.removesuffix(PREVIOUS).endswith(kinds)
    }


def _find_lone_previous(
    texts: Mapping[str, str | None], secrets: Mapping[str, Secret]
) -> list[str]:
    current = {name: name.removesuffix(PREVIOUS) for name in secrets}
    return [
        f"{name} is set without {plain}." for name, plain in current.items() if texts[plain] is None
    ]


def _check_publication(values: Mapping[str, Any]) -> list[str]:
    """Return the contradictions within `[publication]`, reported with all other problems."""
    declared = declared_in(Publication)
    if any(each.name not in values for each in declared.values()):
        return []
    return Publication(**{key: values[each.name] for key, each in declared.items()}).check()


def _assemble(values: Mapping[str, Any], warnings: tuple[str, ...]) -> Settings:
    groups = {
        name: group(**{key: values[each.name] for key, each in declared_in(group).items()})
        for name, group in GROUPS.items()
    }
    return Settings(**groups, warnings=warnings)


def _find_contradictions(settings: Settings) -> list[str]:
    problems = []
    storage, server = settings.storage, settings.server
    needed = {
        "IMPRINT_PINATA_JWT": storage.pinata_jwt,
        "IMPRINT_PINATA_GATEWAY": storage.pinata_gateway,
    }
    missing = [name for name, given in needed.items() if given is None]
    if isinstance(storage.content, PinataContent) and missing:
        problems.append(f"Documents are stored at Pinata, so {' and '.join(missing)} must be set.")
    halves = {
        "IMPRINT_S3_ACCESS_KEY_ID": storage.s3_access_key_id,
        "IMPRINT_S3_SECRET_ACCESS_KEY": storage.s3_secret_access_key,
    }
    lacking = [name for name, given in halves.items() if given is None]
    if len(lacking) == 1:
        problems.append(
            f"{lacking[0]} is missing: set both the access key and its secret, or neither."
        )
    if storage.s3_endpoint and is_exposed(storage.s3_endpoint) and not storage.s3_allow_http:
        problems.append(
            "IMPRINT_S3_ENDPOINT is http:// on another machine, so others on the network could "
            "read documents. Use https://, or set IMPRINT_S3_ALLOW_HTTP=on."
        )
    problems += settings.encryption.check(storage.content)
    if not settings.chain.rpc_urls:
        problems.append("IMPRINT_CHAIN_RPC_URL names no node.")
    elif settings.chain.quorum > len(settings.chain.rpc_urls):
        problems.append(
            "IMPRINT_CHAIN_QUORUM is higher than the number of nodes in IMPRINT_CHAIN_RPC_URL."
        )
    public = settings.chain.public_rpc_url
    own = [each.reveal() for each in settings.chain.rpc_urls]
    if public is not None and set(secret_parts(public)) & {k for u in own for k in secret_parts(u)}:
        problems.append(
            "IMPRINT_CHAIN_PUBLIC_RPC_URL has a key of IMPRINT_CHAIN_RPC_URL in it, and everybody"
            " sees that address. Name a node that needs no key."
        )
    if server.metrics_port and server.metrics_port == server.port:
        problems.append("IMPRINT_METRICS_PORT is the same as IMPRINT_PORT.")
    return problems
