"""Search: folding of texts into words, parsing of queries, and snippets with highlights.

Texts are folded into words here, in the same way for every database: marks and case are dropped,
letters and digits form words, and each character of a script without spaces is one word.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from imprint.domain.posts.text_work import TextWork, TooIntricate

MAX_SEARCH = 200
"""Maximum number of characters in a query."""

MAX_SEARCH_WORDS = 16
"""Maximum number of words in a query."""

MAX_WORD = 64
"""Number of significant characters in a word. The rest is ignored in texts and queries."""

MAX_TEXT = 64 * 1024
"""Number of characters at the beginning of a text that are searchable."""

MAX_FOLDED = 128 * 1024
"""Maximum length of a folded text. Some characters fold into several characters."""

SNIPPET_WINDOW = 16 * 1024
"""Number of characters of a text that are scanned for a snippet."""

SNIPPET = 160
"""Approximate length of a snippet in characters."""

_LEAD = 60
"""Number of characters in a snippet before its first match."""

_CHUNK = 400
"""Number of characters searched at a time. Words are marked only in chunks that match."""

_OVERLAP = 200
"""Maximum number of characters by which a chunk extends into the next chunk."""

_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai, Lao, Myanmar, Khmer
    *((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x30FF), (0x31F0, 0x31FF)),  # kana, radicals
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x1B000, 0x1B16F)),  # Han, kana
    (0x20000, 0x3FFFF),  # Han, supplements
)
"""Characters that each form one word, because their scripts put no spaces between words."""

_STROKES = {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"}
"""Ligatures and letters with strokes, which Unicode does not decompose."""

_KNOWN_CHARACTERS = 20_000
"""Number of characters whose folded form is cached."""

_LONG_WORD = re.compile(rf"([^ ]{{{MAX_WORD}}})[^ ]+")
_RUN = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
"""Matches characters between ASCII separators. Within ASCII, they are a word."""

_PARTS = re.compile(r'"([^"]*)"|([^"\s]+|")')


class NotAQuery(ValueError):
    """The query is too long or has too many words."""


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """Consecutive folded words. With `prefix`, the last word may be the start of a longer word.

    A folded text contains the term if and only if it contains `pattern`.
    """

    words: tuple[str, ...]
    prefix: bool
    pattern: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        end = "" if self.prefix else " "
        object.__setattr__(self, "pattern", f" {' '.join(self.words)}{end}")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query. All of its terms must occur in a post. A query without terms matches no post."""

    terms: tuple[SearchTerm, ...]


@dataclass(frozen=True, slots=True)
class PostTexts:
    """The searchable texts of a post."""

    title: str
    hashtags: tuple[str, ...]
    description: str
    body: str = ""

    def folded(self) -> tuple[str, str, str, str]:
        """A post's title, hashtags, description and body, folded."""
        return (
            fold(self.title),
            fold(" ".join(self.hashtags)),
            fold(self.description),
            fold(self.body),
        )


def fold(text: str) -> str:
    """Return the folded words of a text, with a space before and after each, or an empty string."""
    words = text[:MAX_TEXT].translate(_FOLDING).split()
    if not words:
        return ""
    folded = f" {' '.join(words)} "
    if len(max(words, key=len)) > MAX_WORD:
        folded = _LONG_WORD.sub(r"\1", folded)
    if len(folded) > MAX_FOLDED:
        folded = folded[: folded.rindex(" ", 0, MAX_FOLDED) + 1]
    return folded


def words_of(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    return fold(text).split()


def parse_query(text: str) -> SearchQuery:
    """Parse a query into words and phrases in quotation marks. All other characters are separators.

    A word also matches longer words that begin with it. Phrases, one-letter words and
    characters of scripts without spaces match exactly. Raises `NotAQuery`.
    """
    if len(text) > MAX_SEARCH:
        raise NotAQuery(f"A search may have at most {MAX_SEARCH} characters.")
    terms: dict[SearchTerm, None] = {}
    count = 0
    for part in _PARTS.finditer(text):
        words = words_of(part[0])
        count += len(words)
        if part[1] is not None:
            found = [SearchTerm(tuple(words), prefix=False)] if words else []
        else:
            found = _terms(words)
        terms.update(dict.fromkeys(found))
    if count > MAX_SEARCH_WORDS:
        raise NotAQuery(f"A search may have at most {MAX_SEARCH_WORDS} words.")
    return SearchQuery(tuple(terms))


def matches(query: SearchQuery, texts: PostTexts) -> bool:
    """Whether every term of a query occurs in one of a post's texts."""
    folded = texts.folded()
    return bool(query.terms) and all(
        any(term.pattern in text for text in folded) for term in query.terms
    )


def score(query: SearchQuery, title: str, hashtags: str, description: str) -> int:
    """Return the score of a matching post, which depends on which texts contain the terms.

    Whole words count more than prefixes. The body is not searched, because it must contain the
    terms that the other texts lack.
    """
    total = 0
    for term in query.terms:
        pattern = term.pattern
        if pattern in title:
            weight, text = 16, title
        elif pattern in hashtags:
            weight, text = 8, hashtags
        elif pattern in description:
            weight, text = 4, description
        else:
            total += 2
            continue
        total += weight + (not term.prefix or f"{pattern} " in text)
    return total


def snippet(query: SearchQuery, texts: Iterable[str], work: TextWork | None = None) -> str:
    """Return an excerpt of the first matching text, in which the matching words are marked.

    The excerpt is HTML in which everything except the marks is escaped. Without a match near the
    beginning of the texts, or when `work` runs out, the excerpt is the beginning of the first text
    that is not empty.
    """
    given = [text for text in texts if text]
    try:
        found = _find_match(query, given, work or TextWork())
    except TooIntricate:
        found = None
    if found is not None:
        return found
    shown = (_displayed(text[:SNIPPET_WINDOW]) for text in given)
    return _cut(next(filter(None, shown), ""), [])


def _find_match(query: SearchQuery, texts: Iterable[str], work: TextWork) -> str | None:
    patterns = [term.pattern for term in query.terms]
    for given in texts:
        start = _likely_start(query, given)
        text = _displayed(given[start : start + SNIPPET_WINDOW])
        for start, part in _chunks(text):
            folded = fold(part)
            work.spend(len(part) + len(folded))
            if any(pattern in folded for pattern in patterns):
                marks = _marked(query, part)
                if marks:
                    return _cut(text, [(start + first, start + last) for first, last in marks])
    return None


def _likely_start(query: SearchQuery, text: str) -> int:
    """Return where to start scanning, just before the first literal occurrence of a query word."""
    if len(text) <= SNIPPET_WINDOW:
        return 0
    lower = text[:MAX_TEXT].lower()
    found = [at for term in query.terms if (at := lower.find(term.words[0])) >= 0]
    return max(0, min(found, default=0) - _OVERLAP)


def _terms(words: Sequence[str]) -> list[SearchTerm]:
    """Return the search terms for a run of adjacent unquoted words."""
    terms: list[SearchTerm] = []
    run: list[str] = []
    for word in words:
        if _is_unspaced(word[0]):
            run.append(word)
            continue
        if run:
            terms.append(SearchTerm(tuple(run), prefix=False))
            run = []
        terms.append(SearchTerm((word,), prefix=len(word) > 1))
    if run:
        terms.append(SearchTerm(tuple(run), prefix=False))
    return terms


def _is_unspaced(char: str) -> bool:
    code = ord(char)
    return any(first <= code <= last for first, last in _UNSPACED)


def _fold_character(char: str) -> str:
    """Fold a character into letters and digits, a space, or an empty string."""
    kind = unicodedata.category(char)
    if char == "\N{ZERO WIDTH SPACE}":
        return " "
    if kind[0] == "M" or kind == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    made = []
    for each in plain.replace("\N{ARABIC TATWEEL}", ""):
        kind = unicodedata.category(each)
        if kind[0] in "LN":
            letter = _STROKES.get(each, each)
            made.append(f" {letter} " if _is_unspaced(each) else letter)
        elif kind[0] != "M":
            made.append(" ")
    return "".join(made)


class _Folding(dict[int, str]):
    """Table for `str.translate` that folds each character."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(chr(code))
        if len(self) < _KNOWN_CHARACTERS:
            self[code] = folded
        return folded


_FOLDING = _Folding()


def _displayed(text: str) -> str:
    """Return the text on one line, without control characters or direction marks."""
    if not text.isascii() or not text.isprintable():
        text = text[:MAX_TEXT].translate(_DISPLAY)
    return " ".join(text[:MAX_TEXT].split())


class _Display(dict[int, str]):
    """Table for `str.translate` that drops invisible characters."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        shown = " " if char.isspace() else "" if kind in ("Cc", "Cf", "Cs", "Cn", "Co") else char
        if len(self) < _KNOWN_CHARACTERS:
            self[code] = shown
        return shown


_DISPLAY = _Display()


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Yield overlapping chunks of a text with their offsets, cut between words if possible."""
    start = 0
    while start + _CHUNK + _OVERLAP < len(text):
        middle = start + _CHUNK
        space = text.rfind(" ", middle, middle + _OVERLAP)
        end = middle + _OVERLAP if space < 0 else space
        yield start, text[start:end]
        start = middle if space < 0 else text.index(" ", middle) + 1
    yield start, text[start:]


def _spans(text: str) -> list[tuple[str, int, int]]:
    """Return the folded words of a text, with the start and end of each."""
    spans: list[tuple[str, int, int]] = []
    for run in _RUN.finditer(text):
        if run[0].isascii():
            spans.append((run[0][:MAX_WORD].lower(), run.start(), run.end()))
        else:
            spans += _spans_in_run(run[0], run.start())
    return spans


def _spans_in_run(run: str, start: int) -> Iterator[tuple[str, int, int]]:
    word, begin, end = "", 0, 0
    for at, char in enumerate(run, start):
        folded = _FOLDING[ord(char)]
        for each in folded:
            if each != " ":
                begin = begin if word else at
                word, end = word + each, at + 1
            elif word:
                yield word[:MAX_WORD], begin, end
                word = ""
        if word and folded == "":
            end = at + 1
    if word:
        yield word[:MAX_WORD], begin, end


def _marked(query: SearchQuery, text: str) -> list[tuple[int, int]]:
    """Return the positions of the matching words in a text, in order."""
    spans = _spans(text)
    found: set[tuple[int, int]] = set()
    for term in query.terms:
        first_word, size = term.words[0], len(term.words)
        for at, (word, begin, end) in enumerate(spans):
            if term.prefix and word.startswith(first_word):
                found.add((begin, end))
            elif word == first_word:
                run = spans[at : at + size]
                if tuple(each for each, _, _ in run) == term.words:
                    found.update((first, last) for _, first, last in run)
    return sorted(found)


def _cut(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """Return about `SNIPPET` characters around the first mark, as HTML."""
    begin = max(0, marks[0][0] - _LEAD) if marks else 0
    if begin:
        space = text.find(" ", begin, marks[0][0])
        begin = begin if space < 0 else space + 1
    end = min(len(text), begin + SNIPPET)
    if end < len(text):
        space = text.rfind(" ", begin + SNIPPET // 2, end)
        end = end if space < 0 else space
    parts = ["…"] if begin else []
    at = begin
    for first, last in ((first, min(last, end)) for first, last in marks):
        if not at <= first < last:
            continue
        parts += [html.escape(text[at:first], quote=False), "<mark>"]
        parts += [html.escape(text[first:last], quote=False), "</mark>"]
        at = last
    parts.append(html.escape(text[at:end], quote=False))
    return "".join(parts) + ("…" if end < len(text) else "")
