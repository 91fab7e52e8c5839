/**
 * Where each item stands: what is needed left of what needs it, in columns; within a column so that lines cross as little as a few
 * sweeps can reach. A line over several columns goes through a place of its own in each.
 */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Placed {
  /** Left upper corner of each. */
  readonly nodes: ReadonlyMap<string, Point>;
  /** From what is needed to what needs it, with the points between. */
  readonly lines: readonly { readonly from: string; readonly to: string; readonly points: readonly Point[] }[];
  readonly width: number;
  readonly height: number;
}

export const size = { width: 176, height: 44, columnGap: 56, rowGap: 14, lineRoom: 10 } as const;

interface Place {
  readonly key: string;
  /** A line goes through here; nothing stands here. */
  readonly between: boolean;
  before: Place[];
  after: Place[];
}

/** `needs` says what each key needs. A circle, which no valid graph has, is cut where it is met. */
export function layOut(keys: readonly string[], needs: ReadonlyMap<string, readonly string[]>): Placed {
  const column = columnsOf(keys, needs);
  const columns: Place[][] = [];
  const places = new Map<string, Place>();
  const put = (key: string, at: number, between = false): Place => {
    const place: Place = { key, between, before: [], after: [] };
    columns[at] ??= [];
    columns[at].push(place);
    return place;
  };
  for (const key of keys) places.set(key, put(key, column.get(key) ?? 0));
  const routes: { from: string; to: string; through: Place[] }[] = [];
  for (const to of keys)
    for (const from of needs.get(to) ?? []) {
      const [start, end] = [places.get(from), places.get(to)];
      if (!start || !end) continue;
      const through: Place[] = [start];
      for (let at = (column.get(from) ?? 0) + 1; at < (column.get(to) ?? 0); at += 1) through.push(put(`${from}>${to}`, at, true));
      through.push(end);
      for (const [index, place] of through.entries()) {
        const next = through[index + 1];
        if (!next) continue;
        place.after.push(next);
        next.before.push(place);
      }
      routes.push({ from, to, through });
    }
  untangle(columns);
  return draw(columns, routes);
}

/** One more than the furthest of what it needs. */
function columnsOf(keys: readonly string[], needs: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const known = new Set(keys);
  const column = new Map<string, number>();
  const open = new Set<string>();
  const visit = (key: string): number => {
    const done = column.get(key);
    if (done !== undefined) return done;
    open.add(key);
    let at = 0;
    for (const need of needs.get(key) ?? []) if (known.has(need) && !open.has(need)) at = Math.max(at, visit(need) + 1);
    open.delete(key);
    column.set(key, at);
    return at;
  };
  for (const key of keys) visit(key);
  return column;
}

const sweeps = 6;

/** Each to the middle of its neighbours in the column before, then in the one after, a few times. */
function untangle(columns: Place[][]): void {
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const forward = sweep % 2 === 0;
    const order = forward ? columns : columns.toReversed();
    const rank = new Map<Place, number>();
    for (const column of columns) for (const [at, place] of column.entries()) rank.set(place, at);
    for (const column of order) {
      const middle = (place: Place): number => {
        const near = forward ? place.before : place.after;
        if (near.length === 0) return rank.get(place) ?? 0;
        return near.reduce((sum, each) => sum + (rank.get(each) ?? 0), 0) / near.length;
      };
      const wanted = new Map(column.map((place) => [place, middle(place)]));
      column.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
      for (const [at, place] of column.entries()) rank.set(place, at);
    }
  }
}

function draw(columns: readonly (readonly Place[])[], routes: readonly { from: string; to: string; through: readonly Place[] }[]): Placed {
  const step = size.width + size.columnGap;
  const heights = columns.map((column) => column.reduce((sum, place) => sum + roomOf(place), 0));
  const tallest = Math.max(0, ...heights);
  const corner = new Map<Place, Point>();
  for (const [at, column] of columns.entries()) {
    let y = (tallest - (heights[at] ?? 0)) / 2;
    for (const place of column) {
      corner.set(place, { x: at * step, y });
      y += roomOf(place);
    }
  }
  const nodes = new Map<string, Point>();
  for (const [place, point] of corner) if (!place.between) nodes.set(place.key, point);
  const lines = routes.map(({ from, to, through }) => ({
    from,
    to,
    points: through.flatMap((place, at) => {
      const { x, y } = corner.get(place) ?? { x: 0, y: 0 };
      const left = { x, y: y + (place.between ? size.lineRoom : size.height) / 2 };
      const right = { x: x + size.width, y: left.y };
      if (at === 0) return [right];
      return at === through.length - 1 ? [left] : [left, right];
    }),
  }));
  return {
    nodes,
    lines,
    width: Math.max(0, columns.length * step - size.columnGap),
    height: Math.max(0, tallest - size.rowGap),
  };
}

/** From the top of one to the top of the next in its column. */
const roomOf = ({ between }: Place): number => (between ? size.lineRoom : size.height) + size.rowGap;

/** A line as SVG draws it: level at its ends, bent between. */
export function pathOf(points: readonly Point[]): string {
  return points
    .map(({ x, y }, at) => {
      const before = points[at - 1];
      if (!before) return `M${x} ${y}`;
      if (before.y === y) return `L${x} ${y}`;
      const half = (before.x + x) / 2;
      return `C${half} ${before.y} ${half} ${y} ${x} ${y}`;
    })
    .join('');
}
