/** What callers were told, kept outside of the box: the auditor holds the box to it. */

import { createHash } from 'node:crypto';
import type { Execution } from '@skillbox/protocol';

export interface Job {
  readonly marker: string;
  readonly lang: Lang;
  readonly ms: number;
  readonly artifactBytes: number;
  readonly key?: string;
  /** Somebody asked for it to be cancelled. */
  cancelled: boolean;
  /** Every id that any answer gave for it. */
  readonly ids: Set<string>;
  /** The record that a caller got with status success. */
  success?: Execution;
  /** Its stream, where somebody listened: the text of each entry by its number. */
  heard?: Map<number, string>;
}

export interface Kept {
  readonly id: string;
  readonly tenant: string;
  /** Files whose writing was answered with success, and their text. */
  readonly files: Map<string, string>;
  /** A file with a write under way, or one whose answer was lost, may have either text. */
  readonly unsure: Set<string>;
  end: 'none' | 'asked' | 'answered';
}

export interface Grant {
  readonly tenant: string;
  readonly amount: number;
  answered: boolean;
}

export interface Book {
  readonly jobs: Map<string, Job>;
  readonly sandboxes: Map<string, Kept>;
  /** By Idempotency-Key. */
  readonly grants: Map<string, Grant>;
  /** Answers by what was asked and how it ended. */
  readonly answers: Map<string, number>;
  /** Answers that no fault excuses. */
  readonly surprises: string[];
  /** How each execution and each sandbox ended, as the auditor first saw it: it must stay so. */
  readonly ends: Map<string, string>;
}

export const langs = ['python', 'node', 'bash'] as const;
export type Lang = (typeof langs)[number];

export const createBook = (): Book => ({
  ...{ jobs: new Map(), sandboxes: new Map(), grants: new Map(), answers: new Map(), surprises: [], ends: new Map() },
});

export const artifactOf = ({ marker, artifactBytes }: Pick<Job, 'marker' | 'artifactBytes'>): Buffer =>
  Buffer.from(marker.padEnd(artifactBytes, '.'));

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A skill for each language that does the same: says that it started, takes its time, leaves a file and an output. */
export function skillOf(lang: Lang): Record<string, string> {
  const head = `---\nname: mixed-${lang}\nversion: 1.0.0\ndescription: Takes its time and leaves a file, for tests.\nlang: ${lang}\n---\n\nFor tests.\n`;
  const [file, text] = programs[lang];
  return { 'SKILL.md': head, [file]: text };
}

export const logOf = (marker: string): string => `start ${marker}\nend ${marker}\n`;

const programs: Record<Lang, readonly [string, string]> = {
  python: [
    'main.py',
    `import json, os, time
marker = os.environ["MARKER"]
print("start", marker, flush=True)
time.sleep(int(os.environ["MS"]) / 1000)
with open(os.path.join(os.environ["SANDBOX_FILES_DIR"], "left.txt"), "w") as file:
    file.write(marker.ljust(int(os.environ["BYTES"]), "."))
print("end", marker, flush=True)
with open(os.environ["SANDBOX_OUTPUT"], "w") as file:
    json.dump({"marker": marker}, file)
`,
  ],
  node: [
    'main.js',
    `const { writeFileSync } = require('fs');
const { MARKER, MS, BYTES, SANDBOX_FILES_DIR, SANDBOX_OUTPUT } = process.env;
console.log('start ' + MARKER);
setTimeout(() => {
  writeFileSync(SANDBOX_FILES_DIR + '/left.txt', MARKER.padEnd(Number(BYTES), '.'));
  console.log('end ' + MARKER);
  writeFileSync(SANDBOX_OUTPUT, JSON.stringify({ marker: MARKER }));
}, Number(MS));
`,
  ],
  bash: [
    'main.sh',
    `echo "start $MARKER"
sleep "$(printf '%d.%03d' $((MS / 1000)) $((MS % 1000)))"
printf '%s' "$MARKER" > "$SANDBOX_FILES_DIR/left.txt"
[ $((BYTES - \${#MARKER})) -gt 0 ] && head -c $((BYTES - \${#MARKER})) /dev/zero | tr '\\0' . >> "$SANDBOX_FILES_DIR/left.txt"
echo "end $MARKER"
printf '{"marker":"%s"}' "$MARKER" > "$SANDBOX_OUTPUT"
`,
  ],
};
