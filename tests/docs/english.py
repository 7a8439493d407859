#!/usr/bin/env python3
"""Counts the sentences of the pages that have more than 25 words, and fails where there are more than LONG_ALLOWED of them.

    tests/docs/english.py               README.md and docs/**/*.md, but for docs/reference.md, which is generated
    tests/docs/english.py FILE...       these files, by name
    tests/docs/english.py --self-test   finds what is long in a page made for that

Code blocks, tables, whatever bench/tables.py has made, headings and HTML comments are left out. What stands in `backticks` is one word, and so is a link's text word by
word without its address. A list item and a paragraph end a sentence, also without a full stop. A colon or a semicolon does not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS = 25      # the most that a sentence may have
LONG_ALLOWED = 0  # the recorded number of longer ones; it may only fall

ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[)\"'”*_]*\s+(?=[^a-z\s])|(?<=[.!?][)\"”])\s+")


def paragraphs(page):
    """(line number, text) of each paragraph and each item of a list."""
    page = re.sub(r"^<!-- table: .*?^<!-- end of table -->$", lambda m: "\n" * m[0].count("\n"), page, flags=re.M | re.S)
    text, start, fence, comment = [], 0, "", False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        mark = re.match(r"^\s*(```+|~~~+)", line)
        if fence:
            fence = "" if mark and mark[1] == fence else fence
            continue
        comment = comment or line.lstrip().startswith("<!--")
        ends = comment or mark or not line.strip() or re.match(r"^\s*(\||#|    \S)", line) and not text or line.lstrip().startswith(("|", "#"))
        item = ITEM.match(line)
        if (ends or item) and text:
            yield start, " ".join(text)
            text = []
        if comment:
            comment = "-->" not in line
        elif mark:
            fence = mark[1]
        elif not ends:
            start = start if text else number
            text.append(ITEM.sub("", line).strip())


def sentences(text):
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r"!?\[([^\]\s]*\.md)\]\([^)]*\)", "Page", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return [s.strip() for s in END.split(text) if s.strip()]


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


def long_ones(pages):
    return [(name, number, len(words(s)), s) for name, page in pages for number, text in paragraphs(page)
            for s in sentences(text) if len(words(s)) > WORDS]


def self_test():
    short, long = "One two three four five. " * 6, " ".join(["word"] * 26)
    page = "\n".join(["# " + long, "", short, "", "| " + long + " |", "", "```text", long, "```", "", "<!-- " + long + " -->", "",
                      "<!-- table: one -->", long, "<!-- end of table -->", "",
                      "- " + " ".join(["item"] * 20), "- " + " ".join(["item"] * 20), "", "See `" + long + "` (R. E. Wengert). " + " ".join(["word"] * 20) + ". [page.md](page.md) has it.", "",
                      "[text](" + long.replace(" ", "-") + ") " + " ".join(["word"] * 24), "", long + ": " + "two; three.", "",
                      " ".join(["half"] * 13), " ".join(["other"] * 13) + "."])
    found = [(number, count) for _, number, count, _ in long_ones([("page", page)])]
    wanted = [(24, 28), (26, 26)]
    print("english: self-test", "passed" if found == wanted else f"failed: found {found}")
    sys.exit(found != wanted)


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
    given = [pathlib.Path(a).resolve() for a in sys.argv[1:]]
    files = given or [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if p.name != "reference.md"]
    pages = [(p.relative_to(ROOT).as_posix() if p.is_relative_to(ROOT) else str(p), p.read_text()) for p in files]
    found = long_ones(pages)
    for name, number, count, sentence in found:
        print(f"{name}:{number}: {count} words: {sentence}")
    total = sum(len(sentences(text)) for _, page in pages for _, text in paragraphs(page))
    print(f"english: {total} sentences, {len(found)} of more than {WORDS} words ({LONG_ALLOWED} allowed)")
    sys.exit(len(found) > LONG_ALLOWED or total == 0)


if __name__ == "__main__":
    main()
