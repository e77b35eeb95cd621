#!/usr/bin/env python3
"""Holds what weir prints as JSON against the tables of docs/json.md.

json_members.py DOCUMENT SECTION FILE...   each FILE has one JSON value, or (dump) one on each line
json_members.py DOCUMENT --sources DIR...  each name of the tables is in a string of the C files there

Prints what is not alike; the exit status says whether anything is.
"""
import json
import pathlib
import re
import sys

TYPES = {
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "fraction": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "hex": lambda value: isinstance(value, str) and re.fullmatch(r"0|0x[0-9a-f]+", value),
    "bytes": lambda value: isinstance(value, str) and re.fullmatch(r"([0-9a-f]{2})*", value),
    "null": lambda value: value is None,
}


def rows(document):
    """(section, path, types, record types) of each member; no record types: of all."""
    section = None
    for line in pathlib.Path(document).read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif section and line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            types = re.split(r", | or ", cells[1])
            for path in re.findall(r"`([^`]+)`", cells[0]):
                yield section, path, types, set(cells[3].split()) if len(cells) > 3 else set()


def leaves(value, path=""):
    """(path, value) of all that is no object and no list; empty ones have none."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member, path + "[]")
    else:
        yield path, value


def pattern_of(path):
    return re.compile(re.escape(path).replace(r"\*", r".+"))


def values_of(name):
    text = pathlib.Path(name).read_text()
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def check(document, section, names):
    members = [(pattern_of(path), types, records) for of, path, types, records in rows(document) if of == section]
    wrong = set() if members else {f"no table of '{section}'"}
    for name in names:
        for value in values_of(name):
            record = value.get("type") if isinstance(value, dict) else None
            for path, leaf in leaves(value):
                known = [(types, of) for pattern, types, of in members if pattern.fullmatch(path)]
                known = [types for types, of in known if not of or record in of]
                if not known:
                    wrong.add(f"'{path}' of {record or section} is not in the table")
                elif not any(TYPES[kind](leaf) for types in known for kind in types):
                    wrong.add(f"'{path}' of {record or section} is {leaf!r}, not {known}")
    return wrong


def check_sources(document, folders):
    text = "".join(path.read_text() for folder in folders for path in pathlib.Path(folder).glob("*.c"))
    wrong = set()
    for section, path, _, _ in rows(document):
        for name in re.findall(r"\w+", path):
            # Percentiles are made from numbers.
            if f'"{name}"' not in text and f'\\"{name}\\"' not in text and not re.fullmatch(r"p\d+", name):
                wrong.add(f"'{name}' of {section}: nothing prints it")
    return wrong


def main(arguments):
    document, section, *names = arguments
    wrong = check_sources(document, names) if section == "--sources" else check(document, section, names)
    for line in sorted(wrong):
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
