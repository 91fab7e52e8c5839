"""Draws the table as one SVG, by hand: a card with up to six panels."""

import math
from functools import partial

WIDTH = 960
GAP = 24
HEADER = 92
PANEL_HEIGHT = 268
COLOURS = ["#3b6fd4", "#0f9d8a", "#c2571a", "#8250c4", "#b83280", "#5b7083"]
STYLE = """
  text { font-family: 'Inter', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; fill: #1f2a37; }
  .title { font-size: 22px; font-weight: 650; }
  .subtitle { font-size: 13px; fill: #64748b; }
  .name { font-size: 14px; font-weight: 600; }
  .note { font-size: 11.5px; fill: #64748b; }
  .tick { font-size: 11px; fill: #64748b; }
  .value { font-size: 11px; font-weight: 600; }
"""


def draw_chart(table, descriptions, title):
    """The SVG, or None when there is nothing to draw."""
    panels = choose_panels(table, descriptions)
    if not panels:
        return None
    across = 1 if len(panels) == 1 else 2
    down = math.ceil(len(panels) / across)
    width = (WIDTH - GAP * (across + 1)) / across
    height = HEADER + down * (PANEL_HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title or 'Data analysis')}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#f5f7fa"/>',
        f'<text class="title" x="{GAP}" y="44">{escape(shorten(str(title or "Data analysis"), 70))}</text>',
        f'<text class="subtitle" x="{GAP}" y="68">{escape(subtitle(table, descriptions, len(panels)))}</text>',
    ]
    for index, draw in enumerate(panels):
        x = GAP + (index % across) * (width + GAP)
        y = HEADER + (index // across) * (PANEL_HEIGHT + GAP)
        parts.append(f'<g transform="translate({n(x)} {n(y)})">')
        parts.append(f'<rect width="{n(width)}" height="{PANEL_HEIGHT}" rx="10" fill="#ffffff" stroke="#e2e8f0"/>')
        parts.append(draw(width, COLOURS[index % len(COLOURS)]))
        parts.append("</g>")
    parts.append("</svg>\n")
    return "\n".join(parts)


def choose_panels(table, descriptions):
    if table.is_plain and is_drawable(table.columns[0]) and table.columns[0].numbers:
        numbers, about = table.columns[0].numbers, descriptions[table.columns[0].name]
        values = partial(draw_values, numbers, about)
        spread = partial(draw_histogram, "Distribution", numbers, about)
        if len(numbers) == 1:
            return [values]
        return [values, spread] if len(numbers) <= 400 else [spread]
    # Numbers first: they say more in a picture.
    ordered = sorted(filter(is_drawable, table.columns), key=lambda column: column.numbers is None)
    return [
        partial(draw_histogram, column.name, column.numbers, descriptions[column.name])
        if column.numbers
        else partial(draw_bars, column.name, descriptions[column.name])
        for column in ordered[:6]
    ]


def is_drawable(column):
    """Something to show, and no numbers so large that distances between them are not numbers any more."""
    if column.numbers is None:
        return bool(column.labels)
    return bool(column.numbers) and max(abs(number) for number in column.numbers) < 1e150


def subtitle(table, descriptions, shown):
    if table.is_plain and table.columns[0].numbers:
        about = descriptions[table.columns[0].name]
        facts = [("values", table.row_count), ("mean", about["mean"]), ("median", about["median"]), ("standard deviation", about["stdev"])]
        return "   ·   ".join(f"{name} {label(value)}" for name, value in facts if value is not None)
    count = len(table.columns)
    return f"{label(table.row_count)} rows   ·   {count} column{'' if count == 1 else 's'}" + (f", {shown} shown" if shown < count else "")


def draw_values(numbers, about, width, colour):
    """Each value in its place, with the mean across."""
    left, right, top, bottom = 58, width - 20, 74, PANEL_HEIGHT - 34
    low, high, ticks = axis(min(min(numbers), 0), max(max(numbers), 0))
    to_y = lambda value: bottom - (value - low) / (high - low) * (bottom - top)
    parts = [heading("Values", f"{len(numbers)} in order")]
    parts += grid(ticks, to_y, left, right)
    slot = (right - left) / len(numbers)
    bar = max(1.0, min(46.0, slot * 0.72))
    for index, value in enumerate(numbers):
        x = left + slot * (index + 0.5) - bar / 2
        y, zero = to_y(max(value, 0)), to_y(0)
        size = abs(to_y(value) - zero)
        radius = min(3.0, bar / 2, size)
        parts.append(f'<rect x="{n(x)}" y="{n(y)}" width="{n(bar)}" height="{n(max(size, 0.75))}" rx="{n(radius)}" fill="{colour}"/>')
        if len(numbers) <= 12:
            above = to_y(value) - 5 if value >= 0 else to_y(value) + 14
            parts.append(f'<text class="value" x="{n(x + bar / 2)}" y="{n(above)}" text-anchor="middle">{label(value)}</text>')
    step = max(1, math.ceil(len(numbers) / 12))
    for index in range(0, len(numbers), step):
        parts.append(f'<text class="tick" x="{n(left + slot * (index + 0.5))}" y="{n(bottom + 18)}" text-anchor="middle">{index + 1}</text>')
    parts.append(line(left, to_y(0), right, to_y(0), "#94a3b8"))
    if about["mean"] is not None:
        y = to_y(about["mean"])
        parts.append(line(left, y, right, y, "#d9480f", 'stroke-dasharray="5 4"'))
        parts.append(halo(right, y - 6, f"mean {label(about['mean'])}", "end", "#d9480f"))
    return "\n".join(parts)


def draw_histogram(name, numbers, about, width, colour):
    left, right, top, bottom = 48, width - 20, 74, PANEL_HEIGHT - 34
    edges, counts, marks = bins(numbers)
    low, high = edges[0], edges[-1]
    _, most, ticks = axis(0, max(counts), whole=True)
    to_x = lambda value: left + (value - low) / (high - low) * (right - left)
    to_y = lambda count: bottom - count / most * (bottom - top)
    note = f"mean {label(about['mean'])}   median {label(about['median'])}" + (f"   missing {about['missing']}" if about["missing"] else "")
    parts = [heading(name, note)]
    parts += grid(ticks, to_y, left, right)
    for start, end, count in zip(edges, edges[1:], counts):
        x, y = to_x(start) + 1, to_y(count)
        parts.append(f'<rect x="{n(x)}" y="{n(y)}" width="{n(max(to_x(end) - x - 1, 1))}" height="{n(bottom - y)}" rx="2" fill="{colour}" fill-opacity="0.88"/>')
    parts.append(line(left, bottom, right, bottom, "#94a3b8"))
    for value in marks[:: max(1, math.ceil(len(marks) / 9))]:
        parts.append(f'<text class="tick" x="{n(to_x(value))}" y="{n(bottom + 18)}" text-anchor="middle">{label(value)}</text>')
    if about["median"] is not None:
        x = to_x(about["median"])
        parts.append(line(x, top - 4, x, bottom, "#1f2a37", 'stroke-dasharray="3 3"'))
        parts.append(halo(x, top - 8, "median", "middle", "#1f2a37"))
    return "\n".join(parts)


def draw_bars(name, about, width, colour):
    """The most frequent texts, longest bar first."""
    left, right, top = 150, width - 60, 62
    parts = [heading(name, f"{about['unique']} different values" + (f"   missing {about['missing']}" if about["missing"] else ""))]
    most = max([item["count"] for item in about["top"]], default=1)
    for index, item in enumerate(about["top"]):
        y = top + index * 38
        size = item["count"] / most * (right - left)
        parts.append(f'<text class="tick" x="{left - 10}" y="{y + 16}" text-anchor="end">{escape(shorten(item["value"], 20))}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{n(right - left)}" height="24" rx="4" fill="#f1f5f9"/>')
        parts.append(f'<rect x="{left}" y="{y}" width="{n(max(size, 2))}" height="24" rx="4" fill="{colour}"/>')
        parts.append(f'<text class="value" x="{n(left + size + 8)}" y="{y + 16}">{label(item["count"])}</text>')
    if not about["top"]:
        parts.append(f'<text class="note" x="20" y="{top + 20}">No values.</text>')
    return "\n".join(parts)


def bins(numbers):
    """Edges, counts between them, and where labels go: round numbers, or each number when they are whole and few."""
    low, high = min(numbers), max(numbers)
    if low == high:
        pad = abs(low) * 0.5 or 0.5
        return [low - pad, low + pad], [len(numbers)], [low]
    if high - low <= 24 and all(number == int(number) for number in numbers):
        counts = [0] * (int(high - low) + 1)
        for number in numbers:
            counts[int(number - low)] += 1
        return [low - 0.5 + index for index in range(len(counts) + 1)], counts, [low + index for index in range(len(counts))]
    wanted = min(24, max(5, math.ceil(math.log2(len(numbers)) + 1)))
    width = round_step(high / wanted - low / wanted)
    first = math.floor(low / width) * width
    counts = [0] * max(1, math.ceil((high - first) / width))
    for number in numbers:
        counts[min(len(counts) - 1, int((number - first) / width))] += 1
    edges = [first + width * index for index in range(len(counts) + 1)]
    return edges, counts, edges


def axis(low, high, whole=False):
    """Ends and ticks at round numbers."""
    if low == high:
        high = low + 1
    step = round_step(high / 5 - low / 5)
    if whole:
        step = max(1, math.ceil(step))
    start, end = math.floor(low / step), math.ceil(high / step)
    return start * step, end * step, [index * step for index in range(start, end + 1)]


def round_step(raw):
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    power = power or 5e-324
    return next((power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw), power * 10)


def grid(ticks, to_y, left, right):
    parts = []
    for tick in ticks:
        parts.append(line(left, to_y(tick), right, to_y(tick), "#e8edf3"))
        parts.append(f'<text class="tick" x="{left - 8}" y="{n(to_y(tick) + 4)}" text-anchor="end">{label(tick)}</text>')
    return parts


def heading(name, note):
    return f'<text class="name" x="20" y="28">{escape(shorten(str(name), 36))}</text><text class="note" x="20" y="45">{escape(note)}</text>'


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}" stroke="{colour}" {more}/>'


def halo(x, y, text, anchor, colour):
    """Text that stays readable on top of bars."""
    place = f'x="{n(x)}" y="{n(y)}" text-anchor="{anchor}" class="value"'
    return f'<text {place} stroke="#ffffff" stroke-width="3" stroke-linejoin="round">{text}</text><text {place} style="fill:{colour}">{text}</text>'


def label(value):
    if value is None:
        return "–"
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:.2e}"
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{value:.4g}"


def shorten(text, most):
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def escape(text):
    # Control characters cannot stand in XML at all.
    printable = "".join(character if character.isprintable() else " " for character in str(text))
    return printable.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def n(number):
    """Two decimals are enough for a picture."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
