/** What the ways to run the skill are called, in the order in which they are shown. */

import type { Language } from '@skillbox/protocol';
import type { Way } from '../parts/latency.ts';
import type { Colour } from './svg.ts';

export const languageNames: Readonly<Record<Language, string>> = { python: 'Python', node: 'Node', bash: 'Bash' };

export const ways: readonly { readonly way: Way; readonly label: string; readonly colour: Colour }[] = [
  { way: 'warm', label: 'Skillbox over HTTP, warm', colour: 'ours' },
  { way: 'plain', label: 'plain process, no sandbox', colour: 'plain' },
  { way: 'cold', label: 'Skillbox over HTTP, cold', colour: 'second' },
  { way: 'byHand', label: 'bubblewrap by hand', colour: 'other' },
  { way: 'library', label: 'sandbox-runtime, library', colour: 'other' },
  { way: 'srt', label: 'sandbox-runtime, srt', colour: 'other' },
  { way: 'docker', label: 'docker run, hardened', colour: 'other' },
];
