/** The known word that an unknown one was probably meant to be; undefined when none is near. */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    // The length alone already costs this many edits; it also keeps a huge word from ever being compared.
    if (Math.abs(name.length - word.length) >= fewest) continue;
    const edits = editDistance(word.toLowerCase(), name.toLowerCase());
    if (edits >= fewest) continue;
    nearest = name;
    fewest = edits;
  }
  return nearest;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
        swapped ? at(beforePrevious, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
