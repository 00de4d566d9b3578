"""Footnotes in Markdown, written as `[^1]` and `[^1]: …`, and shown as a list at the end."""

import re
from typing import Any

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_LABEL = r"\[\^([^\s\[\]]{1,60})\]"
"""Pattern of a label. Its length is limited, so that a search for its end takes constant time."""

_NOTE = re.compile(_LABEL + r":[ \t]*")
_REFERENCE = re.compile(_LABEL)


def footnote(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Block rule of a footnote, to which following lines belong if they are indented by four
    spaces."""
    if state.is_code_block(start_line):
        return False
    start = state.bMarks[start_line] + state.tShift[start_line]
    found = _NOTE.match(state.src, start, state.eMarks[start_line])
    if found is None or silent:
        return found is not None
    state.env.setdefault("footnotes", {}).setdefault(found[1], [])
    state.push("footnote_open", "", 1).meta = {"label": found[1]}
    kept = state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line]
    parent, state.parentType = state.parentType, "footnote"
    # The rest of the line is the first line of the footnote's content.
    state.bMarks[start_line], state.tShift[start_line] = found.end(), 0
    state.blkIndent += 4
    state.sCount[start_line] = state.blkIndent
    state.md.block.tokenize(state, start_line, end_line)
    state.blkIndent -= 4
    state.parentType = parent
    state.bMarks[start_line], state.tShift[start_line], state.sCount[start_line] = kept
    state.push("footnote_close", "", -1)
    return True


def footnote_reference(state: StateInline, silent: bool) -> bool:
    """Inline rule of a reference to a footnote."""
    found = _REFERENCE.match(state.src, state.pos, state.posMax)
    notes = state.env.get("footnotes", {})
    if found is None or found[1] not in notes:
        return False
    if not silent:
        numbers = state.env.setdefault("footnote_numbers", {})
        number = numbers.setdefault(found[1], len(numbers) + 1)
        anchor = f"fnref-{number}-{len(notes[found[1]]) + 1}"
        notes[found[1]].append(anchor)
        token = state.push("footnote_ref", "", 0)
        token.meta = {"number": number, "anchor": anchor}
    state.pos = found.end()
    return True


def place_footnotes(tokens: list[Token], env: dict[str, Any]) -> list[Token]:
    """Return the tokens with the footnotes at the end. Unreferenced footnotes are left out."""
    if "footnotes" not in env:
        return tokens
    text: list[Token] = []
    notes: dict[str, list[Token]] = {}
    within = [text]
    for token in tokens:
        if token.type == "footnote_open":
            within.append([])
            # Of two footnotes with the same label, the first one counts.
            notes.setdefault(token.meta["label"], within[-1])
        elif token.type == "footnote_close":
            within.pop()
        else:
            within[-1].append(token)
    numbers: dict[str, int] = env.get("footnote_numbers", {})
    if not numbers:
        return text
    text.append(Token("footnotes_open", "", 1))
    for label, number in numbers.items():
        note = notes[label]
        back = Token("footnote_back", "", 0, meta={"anchors": env["footnotes"][label]})
        ends_with_paragraph = bool(note) and note[-1].type == "paragraph_close"
        note.insert(len(note) - 1 if ends_with_paragraph else len(note), back)
        text.append(Token("footnote_item_open", "", 1, meta={"number": number}))
        text += [*note, Token("footnote_item_close", "", -1)]
    return [*text, Token("footnotes_close", "", -1)]
