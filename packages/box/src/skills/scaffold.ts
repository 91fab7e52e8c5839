/** The files that `skillbox skill init` writes: a skill that lints clean and runs as it is. */

import { BoxError, type Language, languages, skillNamePattern } from '@skillbox/protocol';
import type { SkillFile } from './archive.ts';
import { nearestKey } from './known-keys.ts';

export interface ScaffoldOptions {
  readonly name: string;
  /** What the entrypoint is written in; not used for cognitive skills. */
  readonly lang?: string;
  readonly mode?: 'executable' | 'cognitive';
}

export function scaffoldSkill({ name, lang = 'python', mode = 'executable' }: ScaffoldOptions): SkillFile[] {
  if (!skillNamePattern.test(name)) {
    throw new BoxError('usage', `${JSON.stringify(name)} cannot be the name of a skill.`, {
      hint: 'Use lowercase letters, digits and dashes, such as my-skill.',
    });
  }
  if (mode === 'cognitive') return [file('SKILL.md', instructionSkill(name)), file('references/checklist.md', checklist)];
  const language = languages.find((candidate) => candidate === lang);
  if (!language) {
    const near = nearestKey(lang, languages);
    throw new BoxError('usage', `There is no language ${JSON.stringify(lang)}.`, {
      hint: `Use --lang ${near ?? languages.join(', --lang ')}.`,
    });
  }
  const { path, source } = programs[language];
  return [file('SKILL.md', executableSkill(name, language, path)), file(path, source, 0o755)];
}

const programs: Readonly<Record<Language, { readonly path: string; readonly source: string }>> = {
  python: {
    path: 'scripts/main.py',
    source: `"""Greets somebody, and leaves the greeting as a file too."""

import json
import os
import sys


def main():
    with open("input.json", encoding="utf-8") as file:
        request = json.load(file)
    name = request.get("name", "world")
    if not isinstance(name, str):
        sys.exit("error: name must be a text")

    greeting = f"Hello, {name}!"
    # stdout and stderr become the logs of the execution.
    print("greeting", name)
    with open(os.path.join(os.environ["SANDBOX_FILES_DIR"], "greeting.txt"), "w", encoding="utf-8") as file:
        file.write(greeting + "\\n")
    with open(os.environ["SANDBOX_OUTPUT"], "w", encoding="utf-8") as file:
        json.dump({"greeting": greeting}, file)


main()
`,
  },
  node: {
    path: 'scripts/main.js',
    source: `'use strict';
// Greets somebody, and leaves the greeting as a file too.

const fs = require('node:fs');
const path = require('node:path');

const { name = 'world' } = JSON.parse(fs.readFileSync('input.json', 'utf8'));
if (typeof name !== 'string') {
  console.error('error: name must be a text');
  process.exit(1);
}

const greeting = \`Hello, \${name}!\`;
// stdout and stderr become the logs of the execution.
console.log('greeting', name);
fs.writeFileSync(path.join(process.env.SANDBOX_FILES_DIR, 'greeting.txt'), \`\${greeting}\\n\`);
fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ greeting }));
`,
  },
  bash: {
    path: 'scripts/main.sh',
    source: `#!/usr/bin/env bash
# Greets somebody, and leaves the greeting as a file too.
set -euo pipefail

# Enough for a plain name; use python or node when the input is more than that.
name=$(sed -n 's/.*"name"[[:space:]]*:[[:space:]]*"\\([A-Za-z0-9 _.-]*\\)".*/\\1/p' input.json | head -n 1)
greeting="Hello, \${name:-world}!"

# stdout and stderr become the logs of the execution.
echo "greeting \${name:-world}"
echo "$greeting" > "$SANDBOX_FILES_DIR/greeting.txt"
printf '{"greeting": "%s"}\\n' "$greeting" > "$SANDBOX_OUTPUT"
`,
  },
};

function executableSkill(name: string, lang: Language, entrypoint: string): string {
  return `---
name: ${name}
version: 0.1.0
description: Greets somebody by name. Replace this with what the skill does and when to use it.
lang: ${lang}
entrypoint: ${entrypoint}
timeout: 30s
resources:
  cpu: "0.5"
  memory: 128Mi
input_schema:
  type: object
  properties:
    name:
      description: Who is greeted
      type: string
      default: world
output_schema:
  type: object
  required: [greeting]
  properties:
    greeting: {type: string}
---

# ${name}

Say here, for an agent that has never seen the skill, when to use it and what comes out.

## Input

\`{"name": "Ada"}\`

## Output

\`{"greeting": "Hello, Ada!"}\`, and the same text in the file \`greeting.txt\`.
`;
}

function instructionSkill(name: string): string {
  return `---
name: ${name}
version: 0.1.0
description: Says how to do a piece of work well. Replace this with what it is about and when to follow it.
mode: cognitive
---

# ${name}

Say here, step by step, what an agent has to do.

1. Find out what is asked for.
2. Do it.
3. Go through [the checklist](references/checklist.md) before you answer.
`;
}

const checklist = `# Checklist

- The answer says what was done and what was not.
- Every claim can be checked.
`;

function file(path: string, text: string, mode = 0o644): SkillFile {
  return { path, mode, data: Buffer.from(text) };
}
