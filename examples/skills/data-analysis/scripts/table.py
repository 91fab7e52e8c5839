"""Turns what the caller sent (numbers, rows or CSV) into columns."""

import csv
import io
import math
import os
import re

MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,300})?(\.\d+)?([eE][+-]?\d{1,3})?")


class InputError(Exception):
    """The caller can mend it; shown without a traceback."""


class Column:
    """One name and a cell per row: a number, a text, or None for missing."""

    def __init__(self, name, cells):
        self.name = name
        present = [cell for cell in cells if cell is not None]
        numeric = all(isinstance(cell, (int, float)) for cell in present) and bool(present or not cells)
        self.missing = len(cells) - len(present)
        self.cells = cells if numeric else [None if cell is None else str(cell) for cell in cells]
        self.numbers = present if numeric else None
        self.labels = None if numeric else [str(cell) for cell in present]


class Table:
    def __init__(self, columns, row_count, is_plain):
        self.columns = columns
        self.row_count = row_count
        # A single list of values: its statistics stand at the top of the output.
        self.is_plain = is_plain


def load_table(request, input_dir):
    data = request.get("data")
    text = request.get("csv")
    if data is None and text is None:
        text = read_file(request.get("file"), input_dir)
    if isinstance(data, str):
        data, text = None, data
    if text is not None:
        if not isinstance(text, str):
            raise InputError("csv must be a text.")
        return from_csv(text)
    if isinstance(data, dict):
        return from_named_lists(data)
    if not isinstance(data, list):
        raise InputError("data must be a list of numbers, a list of objects, or CSV text.")
    if data and all(isinstance(row, dict) for row in data):
        return from_rows(data)
    if any(isinstance(item, (dict, list)) for item in data):
        raise InputError("data mixes single values with objects or lists; send one kind.")
    return Table([Column("value", [clean(item) for item in data])], len(data), True)


def from_rows(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table([Column(name, [clean(row.get(name)) for row in rows]) for name in names], len(rows), False)


def from_named_lists(lists):
    if not lists or not all(isinstance(cells, list) for cells in lists.values()):
        raise InputError("An object as data must have a list of values for each column.")
    count = max(len(cells) for cells in lists.values())
    columns = [Column(name, [clean(cell) for cell in cells] + [None] * (count - len(cells))) for name, cells in lists.items()]
    return Table(columns, count, False)


def from_csv(text):
    csv.field_size_limit(10_000_000)
    text = text.lstrip("\ufeff").strip("\r\n")
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter_of(text)) if any(cell.strip() for cell in row)]
    if not rows:
        raise InputError("The CSV has no rows.")
    width = max(len(row) for row in rows)
    first = [parse_cell(cell) for cell in rows[0]]
    has_header = not any(isinstance(cell, (int, float)) for cell in first)
    names = unique_names(rows[0] if has_header else [], width)
    body = rows[1:] if has_header else rows
    columns = [Column(name, [parse_cell(row[at]) if at < len(row) else None for row in body]) for at, name in enumerate(names)]
    return Table(columns, len(body), width == 1 and not has_header)


def delimiter_of(text):
    """The candidate that the first line has most of, outside quotes."""
    line = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return max([",", ";", "\t", "|"], key=line.count)


def unique_names(header, width):
    names = []
    for at in range(width):
        wanted = header[at].strip() if at < len(header) and header[at].strip() else f"column_{at + 1}"
        name, copy = wanted, 2
        while name in names:
            name, copy = f"{wanted}_{copy}", copy + 1
        names.append(name)
    return names


def parse_cell(text):
    text = text.strip()
    if text.lower() in MISSING:
        return None
    # Codes such as 007 are names, not numbers: the pattern takes no leading zeros.
    if PLAIN_NUMBER.fullmatch(text) and any(character.isdigit() for character in text):
        number = float(text)
        if math.isfinite(number):
            return int(text) if re.fullmatch(r"[+-]?\d{1,15}", text) else number
    return text


def clean(value):
    """A JSON value as a cell. Whole numbers too large for exact floats become floats, so that nothing overflows later."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, int) and abs(value) < 2**53:
            return value
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    raise InputError(f"A cell is a {type(value).__name__}; cells must be numbers, texts, true, false or null.")


def read_file(name, input_dir):
    """A CSV that came as an input file: the one that is named, or the only one there is."""
    found = sorted(entry for entry in os.listdir(input_dir) if entry.lower().endswith((".csv", ".tsv"))) if os.path.isdir(input_dir) else []
    if name is None and len(found) == 1:
        name = found[0]
    if name is None:
        raise InputError('Send data, csv, or one CSV file: {"data": [1, 2, 3]}.')
    if name not in found:
        raise InputError(f"There is no input file {name!r}.")
    with open(os.path.join(input_dir, name), encoding="utf-8-sig", newline="") as file:
        return file.read()
