"""Statistics and a chart for numbers, rows or CSV. Standard library only."""

import json
import math
import os
import sys

# An interpreter in isolated mode does not look beside the script.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from chart import draw_chart  # noqa: E402
from table import InputError, load_table  # noqa: E402

MAX_COLUMNS = 200


def main():
    request = read_input()
    table = load_table(request, os.environ.get("SANDBOX_INPUT_DIR", "input"))
    if len(table.columns) > MAX_COLUMNS:
        raise InputError(f"The data has {len(table.columns)} columns; at most {MAX_COLUMNS} are analysed at once.")

    columns = {column.name: describe(column) for column in table.columns}
    output = {"row_count": table.row_count}
    if table.is_plain:
        (only,) = columns.values()
        output.update(only)
    else:
        output["column_count"] = len(columns)
        output["columns"] = columns
        output["correlations"] = correlations(table.columns)
    chart = draw_chart(table, columns, request.get("title"))
    if chart:
        files = os.environ.get("SANDBOX_FILES_DIR", "out/files")
        os.makedirs(files, exist_ok=True)
        with open(os.path.join(files, "chart.svg"), "w", encoding="utf-8") as file:
            file.write(chart)
        output["chart"] = "chart.svg"

    target = os.environ.get("SANDBOX_OUTPUT", "out/output.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(output, file, ensure_ascii=False, allow_nan=False)
    print(f"Analysed {table.row_count} rows in {len(columns)} column(s).")


def read_input():
    text = os.environ.get("SANDBOX_INPUT")
    if text is None:
        with open("input.json", encoding="utf-8") as file:
            text = file.read()
    request = json.loads(text)
    # A bare list is what it looks like: data.
    if isinstance(request, list):
        return {"data": request}
    if not isinstance(request, dict):
        raise InputError('The input must be an object such as {"data": [1, 2, 3]}.')
    return request


def describe(column):
    """What is known of one column; a column is numeric when all its values are numbers."""
    if column.numbers is not None:
        return {"type": "numeric", "count": len(column.numbers), "missing": column.missing, **describe_numbers(column.numbers)}
    counts = {}
    for value in column.labels:
        counts[value] = counts.get(value, 0) + 1
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
    return {
        "type": "categorical",
        "count": len(column.labels),
        "missing": column.missing,
        "unique": len(counts),
        "top": [{"value": value, "count": count} for value, count in top],
    }


def describe_numbers(numbers):
    ordered = sorted(numbers)
    count = len(ordered)
    if count == 0:
        return dict.fromkeys(["mean", "median", "min", "max", "stdev", "sum", "quartiles"]) | {"outliers": []}
    quartiles = [quantile(ordered, part) for part in (0.25, 0.5, 0.75)]
    fence = 1.5 * (quartiles[2] - quartiles[0])
    outliers = [value for value in ordered if value < quartiles[0] - fence or value > quartiles[2] + fence]
    return {
        "mean": tidy(mean_of(ordered)),
        "median": tidy(quartiles[1]),
        "min": tidy(ordered[0]),
        "max": tidy(ordered[-1]),
        "stdev": tidy(deviation(ordered)),
        "sum": tidy(total(ordered)),
        "quartiles": {"q1": tidy(quartiles[0]), "q2": tidy(quartiles[1]), "q3": tidy(quartiles[2])},
        "outliers": [tidy(value) for value in outliers[:10]],
    }


def quantile(ordered, part):
    """Linear between neighbours, both ends included: what spreadsheets and NumPy do."""
    place = (len(ordered) - 1) * part
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    # Weights instead of a difference: the difference of two large numbers can overflow.
    return ordered[low] * (1 - (place - low)) + ordered[high] * (place - low)


def mean_of(numbers):
    whole = total(numbers)
    # Divided first, the sum of very large numbers stays within what a float holds.
    return whole / len(numbers) if whole is not None else total([number / len(numbers) for number in numbers])


def deviation(numbers):
    """Of a sample; None for fewer than two numbers, or when squares are beyond what a float holds."""
    if len(numbers) < 2:
        return None
    middle = mean_of(numbers)
    squares = total([(number - middle) * (number - middle) for number in numbers])
    return None if squares is None else math.sqrt(squares / (len(numbers) - 1))


def total(numbers):
    """The exact sum, rounded once; None when it is beyond what a float holds."""
    try:
        value = math.fsum(numbers)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def correlations(columns):
    """The strongest pairs of numeric columns, over the rows in which both have a value."""
    numeric = [column for column in columns if column.numbers is not None][:40]
    pairs = []
    for index, first in enumerate(numeric):
        for second in numeric[index + 1 :]:
            strength = correlation(first, second)
            if strength is not None and abs(strength) >= 0.3:
                pairs.append({"columns": [first.name, second.name], "r": round(strength, 4)})
    return sorted(pairs, key=lambda pair: (-abs(pair["r"]), pair["columns"]))[:10]


def correlation(first, second):
    both = [(x, y) for x, y in zip(first.cells, second.cells) if x is not None and y is not None]
    if len(both) < 3:
        return None
    xs, ys = [x for x, _ in both], [y for _, y in both]
    middle_x, middle_y = mean_of(xs), mean_of(ys)
    shared = total([(x - middle_x) * (y - middle_y) for x, y in both])
    spread_x = total([(x - middle_x) * (x - middle_x) for x in xs])
    spread_y = total([(y - middle_y) * (y - middle_y) for y in ys])
    if shared is None or not spread_x or not spread_y:
        return None
    strength = shared / (math.sqrt(spread_x) * math.sqrt(spread_y))
    return max(-1.0, min(1.0, strength)) if math.isfinite(strength) else None


def tidy(number):
    """Without the noise of binary fractions, and as an integer where it is one."""
    if number is None or not math.isfinite(number):
        return None
    if isinstance(number, int):
        return number
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


if __name__ == "__main__":
    try:
        main()
    except (InputError, json.JSONDecodeError) as error:
        sys.exit(f"error: {error}")
