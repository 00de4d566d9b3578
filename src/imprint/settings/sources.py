"""Where the texts of settings come from: the environment, files that it names, a TOML file."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from imprint.settings.misspellings import find_meant
from imprint.settings.setting import FILE_SUFFIX, PREFIX, Setting
from imprint.settings.value import SETTINGS

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
