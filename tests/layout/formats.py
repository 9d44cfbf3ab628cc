"""docs/formats.md says of every file and message what the sources say.

usage: formats.py SOURCE_TREE CLANG [INCLUDE_DIRECTORY...]

Below a heading with the name of a struct, a table has its fields; clang is asked for the layout,
and the types and sizes become static_asserts. Tables of enumerations, constants, messages
between zazend and workers, and messages between ranks are compared in the same way.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = "bodhi", "coord", "daemon", "preload"
# Structs that are written to files or sent, besides those whose size a static_assert fixes.
FORMATS = """
    Table TableDataset Counters DatasetCounters ProgramNews View ViewDataset ViewRun ViewOwnRun
    ViewName Tally TallyDataset RunRecord EarlierRun OtherFiles OtherPattern Ledger FrameBody
    EvictBody EvictReply VerifyBody VerifyReply VerifyFinding ListReply ListRecord PushTarget
    DirectoryIdentity InodeRun KeptDirectory LogRecord NodeId""".split()
ENUMERATIONS = "MessageType", "PushType", "NoticeKind"
JOB_MESSAGES = "job_messages", "tally_fragment"  # sources in coord/

INTEGERS = {f"{sign}{bits}": f"std::{word}int{bits}_t" for sign, word in (("u", "u"), ("i", ""))
            for bits in (8, 16, 32, 64)}
PRELUDE = """
#include <array>
#include <atomic>
#include <cstddef>
#include <type_traits>
namespace zazen::formats {
template <class T> struct Plain { using type = T; static constexpr bool is_atomic = false; };
template <class T> struct Plain<std::atomic<T>> : Plain<T> {
  static constexpr bool is_atomic = true;
};
template <class T, std::size_t n> struct Plain<T[n]> : Plain<T> {};
template <class T> struct Plain<T[]> : Plain<T> {};
template <class T, std::size_t n> struct Plain<std::array<T, n>> : Plain<T> {};
template <class T> concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T> struct Value { using type = T; };
template <class T> requires std::is_enum_v<T> struct Value<T> : std::underlying_type<T> {};
template <class T> using Of = typename Plain<T>::type;
// The same number in memory: long and long long are.
template <class T, class U> constexpr bool same() {
  if constexpr (Number<T> && Number<U>) {
    using A = typename Value<T>::type;
    using B = typename Value<U>::type;
    return sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B> &&
           std::is_same_v<A, bool> == std::is_same_v<B, bool>;
  } else {
    return std::is_same_v<T, U>;
  }
}
}
"""


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def name_of(cell):
    """The name between backticks; None for "padding"."""
    found = re.fullmatch(r"`([^`]+)`", cell)
    return found[1] if found else None


def tables(page):
    """[(heading, section of the page, header cells, rows)] in order."""
    found, heading, section, table = [], "", "", None
    for line in page.splitlines():
        if title := re.match(r"(#+) (.*)", line):
            heading = title[2]
            section = heading if len(title[1]) < 4 else section
            table = None
        elif not line.startswith("|"):
            table = None
        elif table is None:
            table = []
            found.append((heading, section, cells(line), table))
        elif not re.fullmatch(r"[|\- ]+", line):
            table.append(cells(line))
    return found


def sources(root):
    return {str(path.relative_to(root)): path.read_text() for folder in FOLDERS
            for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cc")}


def file_of(texts, kind, name):
    """The one file that defines it: a header, or else a source."""
    start = re.compile(rf"^{kind} {re.escape(name.split('::')[0])}\b[^;{{(]*\{{", re.M)
    files = [file for file, text in texts.items() if start.search(text)]
    files = [file for file in files if file.endswith(".h")] or files
    if len(files) != 1:
        raise SystemExit(f"docs/formats.md: {kind} {name} is in {files or 'no source'}")
    return files[0]


def body_of(text, start):
    """The text between the braces that open at or behind `start`."""
    begin = text.index("{", start)
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1:at]
    raise SystemExit("unbalanced braces")


def constant_file(texts, constant, file):
    """`file` if it knows the constant, or else the one file that defines it."""
    word = constant.split(".")[0]
    if file is not None and re.search(rf"\b{word}\b", texts[file]):
        return file
    start = re.compile(rf"\b{word}(\[\])? = |#define {word} ")
    files = [name for name, text in texts.items() if start.search(text)]
    if len(files) != 1:
        raise SystemExit(f"docs/formats.md: {constant} is in {files or 'no source'}")
    return files[0]


def enumerators(text, name):
    body = re.sub(r"//.*", "", body_of(text, re.search(rf"enum (class )?{name}\b", text).start()))
    return re.findall(r"\b(k\w+)\b(?=\s*[=,}]|\s*$)", body)


def plain_type(words):
    """(atomic, C++ type of an element, dimensions) of a type as the page spells it."""
    words = re.sub(r" \(.*\)$|:\d+$", "", words)
    atomic = words.startswith("atomic ")
    base, dimensions = re.fullmatch(r"([\w:]+)((?:\[\d*\])*)",
                                    words.removeprefix("atomic ")).groups()
    return atomic, INTEGERS.get(base, base), re.findall(r"\[(\d*)\]", dimensions)


def type_asserts(where, expression, words):
    enumeration = re.search(r" \(([\w:]+)\)$", words)
    atomic, element, _ = plain_type(words)
    of = f"formats::Plain<{expression}>"
    yield f"static_assert(formats::same<{of}::type, {element}>(), \"{where}: type\");"
    yield f"static_assert({of}::is_atomic == {str(atomic).lower()}, \"{where}: atomic\");"
    if enumeration:
        yield f"static_assert(std::is_same_v<{of}::type, {enumeration[1]}>, \"{where}: type\");"


def struct_asserts(name, rows, problems):
    """static_asserts for sizes and types; also checks that the rows leave no byte out."""
    end = 0
    for offset, size, words, field, *_ in rows:
        if int(offset) != end:
            problems.append(f"{name}: {field} begins at {offset}, the row before ends at {end}")
        field = name_of(field)
        flexible = words.endswith("[]")
        end = int(offset) + (0 if flexible else int(size.replace("each ", "")))
        if field is None:
            continue
        where = f"{name}.{field}"
        expression = f"decltype({name}::{field})"
        if ":" not in words.replace("::", ""):
            measured = f"formats::Of<{expression}>" if flexible else f"{name}::{field}"
            size = size.replace("each ", "")
            yield f"static_assert(sizeof({measured}) == {size}, \"{where}: size\");"
        yield from type_asserts(where, expression, words)
    yield f"static_assert(sizeof({name}) == {end}, \"{name}: size\");"


def layouts(dump):
    """{struct: [(offset, field)]} of clang's record layouts."""
    found = {}
    for block in dump.split("*** Dumping AST Record Layout\n"):
        title = re.match(r"\s+0 \| (?:struct|class) ([^\n]+)\n", block)
        if title:
            name = title[1].replace("(anonymous namespace)::", "").removeprefix("zazen::")
            found[name] = [(int(at), words.split()[-1]) for at, words in
                           re.findall(r"^\s*(\d+)(?::[\d-]+)? \|   (\S.*)$", block, re.M)]
    return found


def link_fields(texts, name):
    """What a struct passes on by ZAZEN_LINK_FIELDS or fields(); a nested one is "Struct::Reply"."""
    outer, _, inner = name.partition("::")
    text = texts[file_of(texts, "(?:struct|class)", outer)]
    start = re.search(rf"^\s*(?:struct|class) {outer}\b[^;{{(]*\{{", text, re.M)
    body = body_of(text, start.start())
    nested = re.search(r"struct Reply \{", body)
    if inner:
        body = body_of(body, nested.start())
    elif nested:
        body = body.replace(body_of(body, nested.start()), "")
    call = (re.search(r"ZAZEN_LINK_FIELDS\(([^)]*)\);", body)
            or re.search(r"fields\(A& a\) \{(?:\s*//[^\n]*)?\s*a\(([^)]*)\);\s*\}", body))
    if call is None:
        base = re.search(r": (\w+) \{", start[0])
        return link_fields(texts, base[1])
    return [field.strip() for field in call[1].split(",") if field.strip()]


def link_type(words):
    """The C++ type of a field between zazend and a worker."""
    if enumeration := re.fullmatch(r"[ui]\d+ \(([\w:]+)\)", words):
        return enumeration[1]
    if words.startswith("list of "):
        return f"std::vector<{link_type(words[8:])}>"
    if words.startswith("optional "):
        return f"std::optional<{link_type(words[9:])}>"
    for start, template in (("map of ", "std::map"), ("pair of ", "std::pair")):
        if words.startswith(start):
            first, second = re.split(r" (?:to|and) ", words[len(start):], maxsplit=1)
            return f"{template}<{link_type(first)}, {link_type(second)}>"
    return {"text": "std::string", "stat": "struct ::stat"}.get(words, INTEGERS.get(words, words))


def link_asserts(texts, name, cell, problems):
    fields = [] if cell == "nothing" else [
        re.fullmatch(r"`(\w+)` (.*)", field).groups() for field in cell.split(", ")]
    told = [field for field, _ in fields]
    if told != link_fields(texts, name):
        problems.append(f"{name} has the fields {link_fields(texts, name)}, the page {told}")
        return
    for field, words in fields:
        where = f"{name}.{field}"
        yield (f"static_assert(formats::same<decltype({name}::{field}), {link_type(words)}>(), "
               f"\"{where}: type\");")
        if enumeration := re.search(r"([ui]\d+) \(([\w:]+)\)$", words):
            number, enumeration = enumeration.groups()
            yield (f"static_assert(formats::same<{enumeration}, {INTEGERS[number]}>(), "
                   f"\"{where}: number\");")


def encoded_sequence(text, function):
    body = body_of(text, re.search(rf"std::string {function}\(", text).start())
    return re.findall(r"\bout\.(number|text)\(", body)


def main():
    root, clang = pathlib.Path(sys.argv[1]), sys.argv[2]
    texts = sources(root)
    page = (root / "docs/formats.md").read_text()
    problems = []
    asserts = {}  # {file: lines}, to be compiled with this file
    structs, enums, functions, messages = {}, set(), set(), set()
    file = None
    for heading, section, header, rows in tables(page):
        title = name_of(heading)
        if header[:4] == ["offset", "size", "type", "field"]:
            file = file_of(texts, "(?:struct|class)", title)
            structs[title] = [(int(row[0]), name_of(row[3])) for row in rows if name_of(row[3])]
            asserts.setdefault(file, []).extend(struct_asserts(title, rows, problems))
        elif header[0] == "number" and header[1] == "name":
            enums.add(title)
            file = file_of(texts, "enum(?: class)?", title)
            told = [name_of(row[1]) for row in rows]
            if told != enumerators(texts[file], title):
                problems.append(f"{title} is {enumerators(texts[file], title)}, the page {told}")
            for number, name, *rest in rows:
                name = name_of(name)
                scope = "" if re.search(rf"enum {title}\b", texts[file]) else f"{title}::"
                asserts.setdefault(file, []).append(
                    f"static_assert(static_cast<long>({scope}{name}) == {number}, \"{name}\");")
                if title == "MessageType":
                    asserts[file].append(f"static_assert(find_rule({scope}{name})->body == "
                                         f"BodyForm::{name_of(rest[0])}, \"{name}: body\");")
        elif header[:2] == ["constant", "value"]:
            for constant, value, *_ in rows:
                constant, value = name_of(constant), name_of(value)
                used = constant_file(texts, constant, file)
                if value.startswith('"'):
                    value = f"std::string_view({value})"
                asserts.setdefault(used, []).append(
                    f"static_assert({constant} == {value}, \"{constant}\");")
        elif header == ["struct", "fields"]:
            for name, fields in rows:
                file = file_of(texts, "(?:struct|class)", name_of(name))
                asserts.setdefault(file, []).extend(
                    link_asserts(texts, name_of(name), fields, problems))
        elif header[:2] == ["number", "message"]:
            for number, name, _, fields, reply in rows:
                name = name_of(name)
                messages.add(name)
                file = file_of(texts, "struct", name)
                lines = asserts.setdefault(file, [])
                lines.append(f"static_assert(static_cast<int>(kLinkType<{name}>) == {number});")
                lines.extend(link_asserts(texts, name, fields, problems))
                if named := name_of(reply):
                    lines.append(f"static_assert(std::is_same_v<LinkReply<{name}>, {named}>);")
                elif reply == "nothing":
                    lines.append(f"static_assert(std::is_same_v<LinkReply<{name}>, NoReply>);")
                else:
                    lines.extend(link_asserts(texts, f"{name}::Reply", reply, problems))
        elif header[:2] == ["type", "field"]:
            functions.add(title)
            told = [row[0] for row in rows]
            found = [encoded_sequence(text, title) for name, text in texts.items()
                     if name.endswith(".cc") and f"std::string {title}(" in text]
            if found != [told]:
                problems.append(f"{title}() writes {found}, the page has {told}")

    needed = set(FORMATS) | {
        match[1] for name, text in texts.items()
        for match in re.finditer(r"static_assert\(sizeof\((\w+)\) == [\dk]", text)
        for kind in [re.search(rf"^\s*struct {match[1]}\b[^;]*\{{", text, re.M)] if kind}
    needed |= {name for text in texts.values()
               for match in re.finditer(r"&& sizeof\((\w+)\) == \d", text) for name in [match[1]]}
    link = texts[file_of(texts, "struct", "BeginFill")]
    needed_messages = {name.strip() for part in re.findall(r"std::tuple<([^;]*)>;", link)
                       for name in part.split(",")}
    needed_functions = {name for file, text in texts.items()
                        if file.endswith(".h") and pathlib.Path(file).stem in JOB_MESSAGES
                        for name in re.findall(r"std::string (encode_\w+)\(", text)}
    described = {name.split("::")[-1] for name in structs}
    for what, missing in (("struct", needed - described),
                          ("message", needed_messages - messages),
                          ("enumeration", set(ENUMERATIONS) - enums),
                          ("function", needed_functions - functions)):
        problems.extend(f"{what} {name} is not in docs/formats.md" for name in sorted(missing))

    # Headers together, each source for itself: their unnamed namespaces have the same names.
    units = {}
    for file in asserts:
        units.setdefault("headers" if file.endswith(".h") else file, []).append(file)
    measured = {}
    for unit, files in units.items():
        code = PRELUDE + "#include <map>\n#include <optional>\n#include <string_view>\n"
        code += "".join(f'#include "{file}"\n' for file in files)
        code += "namespace zazen {\n" + "\n".join(
            line for file in files for line in asserts[file]) + "\n}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as out:
            out.write(code)
            out.flush()
            done = subprocess.run(
                [clang, "-std=c++20", "-D_GNU_SOURCE", "-DOMPI_SKIP_MPICXX", f"-I{root}",
                 *(f"-isystem{path}" for path in sys.argv[3:]), "-fno-access-control", "-w",
                 "-ferror-limit=0", "-fsyntax-only", "-Xclang", "-fdump-record-layouts", out.name],
                capture_output=True, text=True, check=False)
        errors = re.findall(r"error: (.*)", done.stderr)
        problems.extend(f"{unit}: {error}" for error in errors)
        if done.returncode != 0 and not errors:
            problems.append(f"{unit}: {done.stderr[-2000:]}")
        measured.update(layouts(done.stdout))
    for name, told in structs.items():
        if measured.get(name) != told:
            problems.append(f"{name} has the fields {measured.get(name)}, the page {told}")

    for problem in problems:
        print(f"docs/formats.md: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
