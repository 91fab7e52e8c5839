/** Which lines of a text went, came and stayed: the shortest script (Myers), with an end for texts that have little in common. */

export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new';
  readonly text: string;
  /** Line numbers, from 1; undefined on the side where it is not. */
  readonly before?: number;
  readonly after?: number;
}

/** Beyond so many changes, the middle is shown as replaced: nobody reads it line by line, and time grows with its square. */
const mostChanges = 1500;

export function diffLines(before: string, after: string): DiffLine[] {
  const one = linesOf(before);
  const other = linesOf(after);
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const middle = diffMiddle(one.slice(start, one.length - end), other.slice(start, other.length - end));
  const all: [DiffLine['kind'], string][] = [
    ...one.slice(0, start).map((text): [DiffLine['kind'], string] => ['same', text]),
    ...middle,
    ...one.slice(one.length - end).map((text): [DiffLine['kind'], string] => ['same', text]),
  ];
  return numbered(all);
}

/** Only what changed, with a few lines around it; null stands for what was left out. */
export function excerpts(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = new Uint8Array(lines.length);
  for (const [at, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    near.fill(1, Math.max(0, at - around), Math.min(lines.length, at + around + 1));
  }
  const made: (DiffLine | null)[] = [];
  for (const [at, line] of lines.entries()) {
    if (near[at]) made.push(line);
    else if (made.at(-1) !== null) made.push(null);
  }
  return made;
}

const linesOf = (text: string): string[] => {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
};

function numbered(all: readonly [DiffLine['kind'], string][]): DiffLine[] {
  let before = 0;
  let after = 0;
  return all.map(([kind, text]) => {
    if (kind !== 'new') before += 1;
    if (kind !== 'gone') after += 1;
    return { kind, text, ...(kind !== 'new' && { before }), ...(kind !== 'gone' && { after }) };
  });
}

function diffMiddle(one: readonly string[], other: readonly string[]): [DiffLine['kind'], string][] {
  const replaced = (): [DiffLine['kind'], string][] => [
    ...one.map((text): [DiffLine['kind'], string] => ['gone', text]),
    ...other.map((text): [DiffLine['kind'], string] => ['new', text]),
  ];
  if (one.length === 0 || other.length === 0) return replaced();
  const most = Math.min(one.length + other.length, mostChanges);
  // For each number of changes, how far each diagonal came.
  const trace: Int32Array[] = [];
  let reach = new Int32Array(2 * most + 3);
  for (let changes = 0; changes <= most; changes += 1) {
    trace.push(reach);
    reach = reach.slice();
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const at = most + 1 + diagonal;
      const down = diagonal === -changes || (diagonal !== changes && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
      let x = down ? (reach[at + 1] ?? 0) : (reach[at - 1] ?? 0) + 1;
      while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
      reach[at] = x;
      if (x >= one.length && x - diagonal >= other.length) return walkBack(one, other, trace, most, changes);
    }
  }
  return replaced();
}

function walkBack(
  one: readonly string[],
  other: readonly string[],
  trace: readonly Int32Array[],
  most: number,
  changes: number,
): [DiffLine['kind'], string][] {
  const made: [DiffLine['kind'], string][] = [];
  let x = one.length;
  let y = other.length;
  for (let left = changes; left > 0; left -= 1) {
    const reach = trace[left] as Int32Array;
    const at = most + 1 + (x - y);
    const diagonal = x - y;
    const down = diagonal === -left || (diagonal !== left && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
    const fromX = down ? (reach[at + 1] ?? 0) : (reach[at - 1] ?? 0);
    const fromY = fromX - (down ? diagonal + 1 : diagonal - 1);
    const turnX = down ? fromX : fromX + 1;
    while (x > turnX) {
      made.push(['same', one[x - 1] ?? '']);
      x -= 1;
      y -= 1;
    }
    made.push(down ? ['new', other[fromY] ?? ''] : ['gone', one[fromX] ?? '']);
    x = fromX;
    y = fromY;
  }
  while (x > 0) {
    made.push(['same', one[x - 1] ?? '']);
    x -= 1;
  }
  return made.reverse();
}
