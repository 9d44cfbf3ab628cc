"""Every link between the documents leads to a file and a heading, and every document has a table of
contents. Every docs/*.md that a file of the tree names exists, and no sentence stands in two
documents: `documents.py REPOSITORY`."""
import pathlib
import re
import sys

from decisions import tracked_files

LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.M)
SECTION = re.compile(r"^## (.+)$", re.M)
NAMED = re.compile(r"\bdocs/[\w.-]+\.md\b")
GENERATED = "docs/performance.md"  # its tables have the same words
SHORT_SENTENCE = 50  # characters; shorter ones may be the same by chance


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchor(heading):
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def broken_links(path, text, documents):
    for target in LINK.findall(without_code(text)):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (path.parent / name).resolve() if name else path.resolve()
        if not file.exists():
            yield f"no file {target}"
        elif heading and heading not in {anchor(one) for one in
                                         HEADING.findall(without_code(documents[file]))}:
            yield f"no heading {target}"


def unlisted_sections(text):
    links = {target[1:] for target in LINK.findall(text) if target.startswith("#")}
    sections = SECTION.findall(without_code(text))
    return [one for one in sections if anchor(one) not in links] if len(sections) > 1 else []


def sentences(text):
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. |\||#))", without_code(text))
    for block in (" ".join(one.split()) for one in blocks):
        if block.startswith(("|", "#")):
            continue
        for sentence in re.split(r"(?<=[.:!?]) ", block.removeprefix("- ")):
            if len(sentence) >= SHORT_SENTENCE and not sentence.startswith(("[", "!")):
                yield sentence


def main():
    assert anchor("How, with `users = \"all\"`") == "how-with-users--all"
    assert unlisted_sections("[a](#one)\n## One\n## Two\n") == ["Two"]
    long_ones = ["x" * 60 + ".", "y" * 60 + "."]
    assert list(sentences("- " + " Short. ".join(long_ones))) == long_ones

    root = pathlib.Path(sys.argv[1]).resolve()
    paths = sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")])
    documents = {path: path.read_text() for path in paths}
    found = []
    where = {}
    for path, text in documents.items():
        name = str(path.relative_to(root))
        found += [f"{name}: {problem}" for problem in broken_links(path, text, documents)]
        found += [f"{name}: not in its table of contents: {one}" for one in unlisted_sections(text)]
        for sentence in sentences(text):
            where.setdefault(sentence, []).append(name)
    found += [f"{' and '.join(sorted(names))}: {sentence}"
              for sentence, names in where.items() if len(names) > 1 and set(names) != {GENERATED}]
    for name, text in tracked_files(root).items():
        found += [f"{name}: no {document}" for document in set(NAMED.findall(text))
                  if not (root / document).exists()]
    print("\n".join(found))
    if len(documents) < 10 or len(where) < 300:
        print(f"only {len(documents)} documents, {len(where)} sentences: are they read?")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
