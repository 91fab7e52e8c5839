/** Splits SKILL.md and reads its YAML, which may be hostile: bounded size, bounded aliases, no merge keys, no tags, no __proto__. */

import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';
import type { Findings } from './findings.ts';

export interface Field {
  readonly key: string;
  readonly line: number;
  /** Plain JSON. */
  readonly value: unknown;
  /** A scalar as it is written, so that 1.10 is not 1.1; undefined for lists and maps. */
  readonly text: string | undefined;
  /** The same for a scalar inside the value. */
  textAt(...path: readonly (string | number)[]): string | undefined;
  /** Line of something inside the value. */
  lineAt(...path: readonly (string | number)[]): number;
}

export interface FrontMatter {
  readonly fields: ReadonlyMap<string, Field>;
  /** What follows the front matter, trimmed. */
  readonly body: string;
  readonly bodyLine: number;
}

/** YAML is quadratic in places: this size takes a fraction of a second at worst. */
export const maxFrontMatterBytes = 32 * 1024;

/** Undefined when it cannot be read; the findings say why. */
export function loadFrontMatter(text: string, findings: Findings): FrontMatter | undefined {
  const parts = split(text, findings);
  if (!parts) return undefined;
  const fields = parseFields(parts.yaml, parts.line, findings);
  return fields && { fields, body: parts.body.trim(), bodyLine: parts.bodyLine };
}

const maxAliases = 20;
const fence = /^---[ \t]*$/;

interface Parts {
  readonly yaml: string;
  /** Line of the file on which the YAML starts. */
  readonly line: number;
  readonly body: string;
  readonly bodyLine: number;
}

function split(text: string, findings: Findings): Parts | undefined {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const first = lines.findIndex((line) => line.trim() !== '');
  if (first === -1 || !fence.test((lines[first] ?? '').trimStart())) {
    findings.error(
      'front-matter-missing',
      1,
      'SKILL.md does not start with front matter.',
      'Start it with a line ---, then name: and description:, then ---.',
    );
    return undefined;
  }
  const length = lines.slice(first + 1).findIndex((line) => fence.test(line));
  if (length === -1) {
    findings.error('front-matter-unclosed', first + 1, 'The front matter has no end.', 'Put a line --- after the last field.');
    return undefined;
  }
  const end = first + 1 + length;
  const yaml = lines.slice(first + 1, end).join('\n');
  if (Buffer.byteLength(yaml) > maxFrontMatterBytes) {
    const fix = `Keep it below ${maxFrontMatterBytes / 1024} KiB; instructions belong after it.`;
    findings.error('front-matter-too-large', first + 1, 'The front matter is too large.', fix);
    return undefined;
  }
  return { yaml, line: first + 2, body: lines.slice(end + 1).join('\n'), bodyLine: end + 2 };
}

function parseFields(yaml: string, firstLine: number, findings: Findings): Map<string, Field> | undefined {
  try {
    return fieldsOf(parseLeniently(yaml, firstLine, findings), firstLine, findings);
  } catch (error) {
    // Deep nesting overflows the stack, too many aliases are a ReferenceError, circles cannot become JSON.
    const reason = error instanceof Error ? error.message : String(error);
    findings.error(
      'yaml-unsafe',
      firstLine,
      `The front matter cannot be read: ${reason}`,
      'Write it without anchors, aliases and deep nesting.',
    );
    return undefined;
  }
}

interface Parsed {
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Other agents take `description: Use it for: a, b` although YAML does not; so do we, with a warning. */
function parseLeniently(yaml: string, firstLine: number, findings: Findings): Parsed {
  const strict = parse(yaml);
  if (strict.document.errors.length === 0) return strict;
  const quotedLines: number[] = [];
  const mended = yaml
    .split('\n')
    .map((line, index, all) => {
      const match = /^(name|description|license|compatibility):[ \t]+([^\s"'|>[{&*!].*)$/.exec(line);
      const isWhole = !/^[ \t]+\S/.test(all[index + 1] ?? '');
      if (!match?.[2]?.includes(': ') || !isWhole) return line;
      quotedLines.push(firstLine + index);
      return `${match[1]}: ${JSON.stringify(match[2].trim())}`;
    })
    .join('\n');
  const lenient = parse(mended);
  if (quotedLines.length === 0 || lenient.document.errors.length > 0) return strict;
  for (const line of quotedLines) {
    findings.warning(
      'yaml-unquoted',
      line,
      'The text has ": " in it and is not quoted, which is not valid YAML.',
      'Put the text into double quotes.',
    );
  }
  return lenient;
}

function parse(yaml: string): Parsed {
  const lines = new LineCounter();
  // uniqueKeys compares each key with each other one; checkKeys does it in one pass.
  const document = parseDocument(yaml, {
    lineCounter: lines,
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    schema: 'core',
    version: '1.2',
  });
  return { document, lines };
}

function fieldsOf({ document, lines }: Parsed, firstLine: number, findings: Findings): Map<string, Field> | undefined {
  const lineOf = (offset: number | undefined) => firstLine - 1 + (offset === undefined ? 1 : Math.max(1, lines.linePos(offset).line));
  for (const { message, pos } of document.errors) {
    findings.error(
      'yaml-invalid',
      lineOf(pos[0]),
      `The front matter is not valid YAML: ${message}`,
      'Correct the line; quote texts that have : or # in them.',
    );
  }
  for (const { message, pos } of document.warnings) {
    findings.error(
      'yaml-unsafe',
      lineOf(pos[0]),
      `The front matter has a tag that is not allowed: ${message}`,
      'Write plain texts, numbers, lists and maps.',
    );
  }
  if (document.errors.length + document.warnings.length > 0) return undefined;
  if (!isMap(document.contents)) {
    findings.error(
      'yaml-invalid',
      firstLine,
      'The front matter is not a list of fields.',
      'Write one field per line, such as name: my-skill.',
    );
    return undefined;
  }
  if (!checkKeys(document, lineOf, findings)) return undefined;
  // Through JSON: what cannot be JSON (circles, special numbers) must not get any further.
  const values = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: maxAliases }))) as Record<string, unknown>;
  const fields = new Map<string, Field>();
  for (const { key, value } of (document.contents as YAMLMap).items) {
    if (!isScalar(key)) continue;
    const name = String(key.value);
    fields.set(name, {
      key: name,
      line: lineOf(key.range?.[0]),
      value: values[name] ?? null,
      text: textOf(value, document),
      textAt: (...path) => textOf(document.getIn([name, ...path], true), document),
      lineAt: (...path) => lineOf(deepestStart(document, [name, ...path])),
    });
  }
  return fields;
}

function textOf(node: unknown, document: Document): string | undefined {
  const target = isAlias(node) ? node.resolve(document) : node;
  return isScalar(target) ? (target.source ?? String(target.value ?? '')) : undefined;
}

function checkKeys(document: Document, lineOf: (offset: number | undefined) => number, findings: Findings): boolean {
  let fine = true;
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? String(key.value) : undefined;
        const line = lineOf(isNode(key) ? key.range?.[0] : undefined);
        if (name === undefined || name === '__proto__' || name === '<<') {
          findings.error(
            'yaml-unsafe',
            line,
            `The key ${name ?? 'of this map'} is not allowed.`,
            'Use plain texts as keys, without merge keys (<<) and __proto__.',
          );
          fine = false;
        } else if (seen.has(name)) {
          findings.error('key-repeated', line, `The key ${name} is there twice.`, 'Remove one of them.');
          fine = false;
        }
        if (name !== undefined) seen.add(name);
      }
    },
  });
  return fine;
}

/** Offset of the innermost part of the path that exists: a finding on the parent's line is better than none. */
function deepestStart(document: Document, path: readonly (string | number)[]): number | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
      if (pair && isNode(pair.key)) return pair.key.range?.[0];
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return node.range?.[0];
  }
  return undefined;
}
