/** Small charts as SVG, drawn here: no library, and colours that can be read on light and on dark paper. */

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** A thin line goes on to here. */
  readonly upTo?: number;
  /** Written after the bar. */
  readonly note: string;
  readonly colour: Colour;
}

export interface BarChart {
  readonly title: string;
  /** What the lengths are, such as `ms, p50; the line goes to p95`. */
  readonly unit: string;
  readonly scale: 'log' | 'linear';
  readonly panels: readonly { readonly name: string; readonly bars: readonly Bar[] }[];
}

export interface LineChart {
  readonly title: string;
  readonly unit: string;
  /** Named places on the x axis, the same in each panel. */
  readonly places: readonly string[];
  readonly panels: readonly {
    readonly name: string;
    readonly lines: readonly { readonly label: string; readonly values: readonly number[]; readonly colour: Colour }[];
  }[];
}

/** `ours` is the box at its best, `second` the box otherwise, the others what it is compared with. */
export type Colour = 'ours' | 'second' | 'plain' | 'other';

const width = 760;
const labelWidth = 210;
const noteWidth = 170;
const rowHeight = 22;

export function drawBars({ title, unit, scale, panels }: BarChart): string {
  const all = panels.flatMap(({ bars }) => bars.flatMap(({ value, upTo = value }) => [value, upTo]));
  const room = width - labelWidth - noteWidth;
  const largest = Math.max(...all);
  const least = Math.min(...all) / 2;
  const length = (value: number): number =>
    scale === 'linear' ? (value / largest) * room : (Math.log(value / least) / Math.log(largest / least)) * room;
  const parts: string[] = [];
  let y = 62;
  for (const { name, bars } of panels) {
    if (name) parts.push(text(12, y, name, 'name'));
    y += name ? 12 : 0;
    for (const { label, value, upTo, note, colour } of bars) {
      const middle = y + rowHeight / 2;
      parts.push(text(labelWidth - 8, middle + 4, label, 'text', 'end'));
      parts.push(
        `<rect x="${labelWidth}" y="${y + 4}" width="${px(Math.max(1, length(value)))}" height="${rowHeight - 8}" rx="2" class="${colour}"/>`,
      );
      if (upTo !== undefined)
        parts.push(
          `<line x1="${px(labelWidth + length(value))}" x2="${px(labelWidth + length(upTo))}" y1="${middle}" y2="${middle}" class="whisker ${colour}"/>`,
        );
      parts.push(text(labelWidth + length(Math.max(value, upTo ?? 0)) + 8, middle + 4, note, 'text'));
      y += rowHeight;
    }
    y += 22;
  }
  return sheet(title, unit, y - 10, parts);
}

export function drawLines({ title, unit, places, panels }: LineChart): string {
  const panelWidth = (width - 24) / panels.length;
  const [top, height] = [70, 190];
  const parts: string[] = [];
  panels.forEach(({ name, lines }, panel) => {
    const left = 12 + panel * panelWidth + 36;
    const room = panelWidth - 36 - 20;
    const largest = niceAbove(Math.max(...lines.flatMap(({ values }) => values)));
    const x = (index: number): number => left + (places.length === 1 ? room / 2 : (index / (places.length - 1)) * room);
    const y = (value: number): number => top + height - (value / largest) * height;
    parts.push(text(left, top - 12, name, 'name'));
    for (const share of [0, 0.5, 1]) {
      const at = px(y(largest * share));
      parts.push(`<line x1="${px(left)}" x2="${px(left + room)}" y1="${at}" y2="${at}" class="grid"/>`);
      parts.push(text(left - 6, Number(at) + 4, String(largest * share), 'text', 'end'));
    }
    places.forEach((place, index) => void parts.push(text(x(index), top + height + 18, place, 'text', 'middle')));
    for (const { values, colour } of lines) {
      const points = values.map((value, index) => `${px(x(index))},${px(y(value))}`);
      parts.push(`<polyline points="${points.join(' ')}" class="line ${colour}"/>`);
      for (const point of points) parts.push(`<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="3" class="${colour}"/>`);
    }
  });
  const legend = panels[0]?.lines ?? [];
  legend.forEach(({ label, colour }, index) => {
    const x = 48 + index * 175;
    parts.push(`<rect x="${x}" y="${top + height + 34}" width="12" height="12" rx="2" class="${colour}"/>`);
    parts.push(text(x + 18, top + height + 44, label, 'text'));
  });
  return sheet(title, unit, top + height + 62, parts);
}

/** Greys that stand out from white and from black alike; where the reader's choice is known, better ones. */
const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #6e7781; }
.title { font-size: 14px; font-weight: 600; } .name { font-weight: 600; }
.ours { fill: #2f9e44; stroke: #2f9e44; } .second { fill: #1c7ed6; stroke: #1c7ed6; }
.plain { fill: #e8890c; stroke: #e8890c; } .other { fill: #868e96; stroke: #868e96; }
rect, circle { stroke: none !important; } .line { fill: none !important; stroke-width: 2; } .whisker { stroke-width: 2; opacity: 0.6; }
.grid { stroke: #868e96; stroke-opacity: 0.3; }
@media (prefers-color-scheme: dark) { text { fill: #9aa4ae; } .title, .name { fill: #e6edf3; } }
@media (prefers-color-scheme: light) { text { fill: #57606a; } .title, .name { fill: #1f2328; } }
`.trim();

function sheet(title: string, unit: string, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>\n${style}\n</style>`,
    text(12, 20, title, 'title'),
    text(12, 36, unit, 'text'),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function text(x: number, y: number, words: string, kind: string, anchor = 'start'): string {
  return `<text x="${px(x)}" y="${px(y)}" class="${kind}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}

const px = (value: number): string => String(Math.round(value * 10) / 10);

const escaped = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
