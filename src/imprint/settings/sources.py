"""Where the texts of settings come from: the environment, files that it names, a TOML file."""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from imprint.settings.setting import FILE_SUFFIX, PREFIX, Setting
from imprint.settings.value import SETTINGS

CONFIG_NAME = "IMPRINT_CONFIG"
"""The setting that names the TOML file; it can stand in the environment only."""

ReadFile = Callable[[Path], str]


@dataclass(slots=True)
class Texts:
    """The texts that were given, by the names of their settings, and what was wrong with others."""

    given: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


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
    return texts


def read_environment(environ: Mapping[str, str], read_file: ReadFile) -> Texts:
    """What the environment says; names that begin like ours and are none are problems."""
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
        else:
            texts.problems.append(f"{name} is no setting.{_suggest(name, known)}")


def _suggest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" Did you mean {close[0]}?" if close else ""


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
