/** Ranks skills for a query, over plain rows: no index, no state, the same answer for the same input. */

export interface SearchRow {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
}

/** Rows that match, best first; equal ones in order of name. Each word of the query counts, and all of them together count more. */
export function searchSkills<Row extends SearchRow>(rows: readonly Row[], query: string): Row[] {
  const words = [...new Set(wordsOf(query).filter((word) => !stopWords.has(word)))].slice(0, maxQueryWords);
  if (words.length === 0) return [];
  const phrase = query.trim().toLowerCase();
  return rows
    .map((row) => ({ row, score: scoreOf(row, words, phrase) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.row.name < b.row.name ? -1 : Number(a.row.name > b.row.name)))
    .map(({ row }) => row);
}

const maxQueryWords = 32;
const weights = { name: 8, description: 3, instructions: 1 } as const;
const stopWords = new Set('a an and are as at be by for from how i in is it of on or that the this to use using with'.split(' '));

function scoreOf(row: SearchRow, words: readonly string[], phrase: string): number {
  const fields = { name: countWords(row.name), description: countWords(row.description), instructions: countWords(row.instructions) };
  let total = 0;
  let matched = 0;
  for (const word of words) {
    let best = 0;
    for (const field of ['name', 'description', 'instructions'] as const) best += weights[field] * matchOf(word, fields[field]);
    if (best > 0) matched += 1;
    total += best;
  }
  if (matched === 0) return 0;
  if (row.name.toLowerCase() === phrase) total += 50;
  // A row that has every word outranks one that repeats a single word often.
  return Math.round(total * (matched / words.length) ** 2 * 1000) / 1000;
}

/** 0 to about 1.5: whole word, then the same word in another form, then a beginning; repetition adds little. */
function matchOf(word: string, counts: ReadonlyMap<string, number>): number {
  const exact = counts.get(word);
  if (exact) return 1 + Math.min(0.5, Math.log2(exact) / 10);
  let best = 0;
  for (const candidate of counts.keys()) {
    if (stemOf(candidate) === stemOf(word)) best = Math.max(best, 0.8);
    else if (word.length >= 2 && candidate.startsWith(word)) best = Math.max(best, 0.4 + (0.4 * word.length) / candidate.length);
  }
  return best;
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Just enough English that `charts` finds `chart` and `counting` finds `count`. */
function stemOf(word: string): string {
  return word.length < 5 ? word.replace(/s$/, '') : word.replace(/(ing|ers?|ed|es|s)$/, '');
}
