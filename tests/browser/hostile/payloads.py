"""Script injection payloads from DOMPurify and OWASP's filter evasion cheat sheet."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
DOMPURIFY = HERE.parent / "node_modules" / "dompurify" / "test" / "fixtures" / "expect.js"


@dataclass(frozen=True, slots=True)
class Payload:
    """A hostile text and its name."""

    name: str
    text: str

    @property
    def size(self) -> int:
        """The size in UTF-8 bytes, as counted by the contract."""
        return len(self.text.encode())


@cache
def dompurify() -> Sequence[Payload]:
    """Return the test cases of DOMPurify. Only payloads are read from its Node module."""
    script = f"console.log(JSON.stringify(require({json.dumps(str(DOMPURIFY))})))"
    said = subprocess.run(["node", "-e", script], capture_output=True, check=True)
    return [
        Payload(f"{number} {case.get('title', '')}".strip(), case["payload"])
        for number, case in enumerate(json.loads(said.stdout))
    ]


@cache
def evasion() -> Sequence[Payload]:
    """Return the cases in `evasion.json`."""
    cases = json.loads((HERE / "evasion.json").read_text(encoding="utf-8"))
    return [Payload(case["name"], case["payload"]) for case in cases]


CORPORA = {"dompurify": dompurify, "evasion": evasion}


def everything() -> list[Payload]:
    """Return all payloads of both corpora."""
    return [*dompurify(), *evasion()]


def as_markdown(text: str) -> str:
    """Return a document that consists of the payload."""
    return text


def in_markdown(text: str) -> str:
    """Return a document with the payload wherever Markdown allows a text or an address."""
    line = " ".join(text.split())
    return "\n\n".join(
        (
            f"# {line}",
            f"[{line}](https://a.example/)",
            f"[x]({line})",
            f"[x](<{line}>)",
            f"[x](https://a.example/ '{line}')",
            f"![{line}](/ipfs/x)",
            f"![x]({line})",
            f"![x](<{line}>)",
            f"![{line}](data:image/png;base64,AAAA)",
            f"[x][r] ![x][r]\n\n[r]: <{line}> '{line}'",
            f"<{line}>",
            f"<https://a.example/{line}>",
            f"*{line}* **{line}** ~~{line}~~ `{line}`",
            f"- {line}\n  1. {line}",
            f"> {line}",
            f"| {line} |\n| --- |\n| {line} |",
            f"```{line}\n{text}\n```",
        )
    )


def in_blocks(text: str) -> str:
    """Return a legacy front-end document with the payload in every member of every block."""
    return json.dumps({"title": text, "content": {"time": 1, "blocks": _blocks(text)}})


def _blocks(text: str) -> list[dict[str, object]]:
    items = [text, {"content": text, "items": [{"content": text, "items": []}]}]
    table = {"withHeadings": True, "content": [[text, text], [text, text]]}
    picture = {"caption": text, "alt": text, "withBorder": text, "stretched": text}
    return [
        {"id": text, "type": "paragraph", "data": {"text": text, "alignment": text}},
        {"type": "header", "data": {"text": text, "level": 2}},
        {"type": "header", "data": {"text": text, "level": text}},
        {"type": "list", "data": {"style": "ordered", "items": items}},
        {"type": "list", "data": {"style": text, "items": [text]}},
        {"type": "checklist", "data": {"items": [{"text": text, "checked": text}]}},
        {"type": "quote", "data": {"text": text, "caption": text, "alignment": text}},
        {"type": "code", "data": {"code": text, "language": text}},
        {"type": "raw", "data": {"html": text}},
        {"type": "image", "data": {"file": {"url": text}, **picture}},
        {"type": "image", "data": {"url": f"data:image/png;base64,AAAA{text}", **picture}},
        {"type": "simpleImage", "data": {"url": text, **picture}},
        {"type": "table", "data": table},
        {"type": "embed", "data": {"service": text, "source": text, "embed": text, **picture}},
        {"type": "linkTool", "data": {"link": text, "meta": {"title": text}}},
        {"type": "warning", "data": {"title": text, "message": text}},
        {"type": "delimiter", "data": {"text": text}},
        {"type": text, "data": {"text": text}},
        {"type": "paragraph", "data": text},
    ]


DOCUMENTS = {"as markdown": as_markdown, "in markdown": in_markdown, "in blocks": in_blocks}


def batches(payloads: Iterable[Payload], size: int) -> list[list[Payload]]:
    """Split the payloads into groups of `size`."""
    listed = list(payloads)
    return [listed[at : at + size] for at in range(0, len(listed), size)]


def markdown_of(batch: Sequence[Payload]) -> str:
    """Return one text with all payloads, without NUL characters, which no draft may have."""
    texts = [each.text.replace("\0", "") for each in batch]
    return "\n\n".join(part for text in texts for part in (text, in_markdown(text)))


def blocks_of(batch: Sequence[Payload]) -> str:
    """Return one legacy front-end document with all payloads."""
    blocks = [block for each in batch for block in _blocks(each.text)]
    return json.dumps({"title": batch[0].text, "content": {"blocks": blocks}})
