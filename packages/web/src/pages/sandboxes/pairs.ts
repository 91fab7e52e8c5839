/** NAME=VALUE, one in a line, as people paste it. */

export interface Pairs {
  readonly pairs: Record<string, string>;
  readonly problem?: string;
}

export function parsePairs(text: string): Pairs {
  const pairs: Record<string, string> = {};
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [, name, value = ''] = /^\s*([^=\s][^=]*?)\s*=(.*)$/.exec(line) ?? [];
    if (name === undefined) return { pairs, problem: `Line ${at + 1} is not NAME=VALUE.` };
    pairs[name] = value;
  }
  return { pairs };
}
