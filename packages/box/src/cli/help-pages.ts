/** Every help text there is, by the words of its command. The build writes them into a file, so that --help loads nothing. */

import { familySummaries } from './families.ts';
import { leaves } from './leaves.ts';
import { parseInvocation } from './program.ts';

export function helpPages(): Record<string, string> {
  const words = ['', ...Object.keys(familySummaries), ...leaves.map((leaf) => leaf.words)];
  return Object.fromEntries(words.map((name) => [name, pageOf(name)]));
}

function pageOf(words: string): string {
  let text = '';
  parseInvocation([...words.split(' ').filter(Boolean), '--help'], leaves, (part) => {
    text += part;
  });
  return text;
}
