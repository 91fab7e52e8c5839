/** From text to a plain value, without losing where in the text each part stands. */

import type { CST, Document, Node } from 'yaml';
import type { Path, Problem } from './finding.ts';
import { type PlainNode, readPlainYaml } from './plain-yaml.ts';
import { wholeYaml } from './yaml.ts';

export interface ManifestDocument {
  /** Only meaningful when no problem is one of syntax. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  positionOf(problem: Problem): { line: number; column: number };
}

/** Room for thousands of items of the graph. */
const maxLength = 2 ** 20;
// Composing is recursive: far deeper than this it does not throw but takes the process down.
const maxDepth = 64;

export function readDocument(text: string): ManifestDocument {
  if (text.length <= maxLength) return readPlainDocument(text) ?? readWholeDocument(text);
  const message = `the file has ${text.length} characters, ${maxLength} are allowed`;
  return { value: undefined, problems: [{ code: 'manifest.too_large', path: [], message }], positionOf: () => ({ line: 1, column: 1 }) };
}

/** By the fast reader; undefined for what is beyond it. */
function readPlainDocument(text: string): ManifestDocument | undefined {
  const root = readPlainYaml(text, maxDepth / 2);
  if (!root) return undefined;
  let starts: number[] | undefined;
  return {
    value: root.value,
    problems: [],
    positionOf(problem) {
      starts ??= lineStarts(text);
      return placeIn(starts, problem.offset ?? plainOffset(root, problem));
    },
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function placeIn(starts: readonly number[], offset: number): { line: number; column: number } {
  let low = 0;
  for (let high = starts.length - 1; low < high; ) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

/** Where the path leads, or the last part of it that exists. */
function plainOffset(root: PlainNode, { path, at: side = 'value' }: Problem): number {
  let node = root;
  let { offset } = root;
  for (const [index, part] of path.entries()) {
    const { items, keys, value } = node;
    if (!items) return offset;
    // No key is a number, so an object has them in the order they were written.
    const at = keys ? Object.keys(value as object).indexOf(String(part)) : Number(part);
    const item = items[at];
    if (!item) return offset;
    node = item;
    offset = keys?.[at] !== undefined && side === 'key' && index === path.length - 1 ? keys[at] : item.offset;
  }
  return offset;
}

/** By the parser that knows all of YAML. */
export function readWholeDocument(text: string): ManifestDocument {
  const { Composer, LineCounter, Parser } = wholeYaml();
  const lines = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const broken = (...problems: Problem[]): ManifestDocument => ({
    value: undefined,
    problems,
    positionOf: (problem) => place(problem.offset ?? 0),
  });

  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const tooDeep = firstBelow(tokens, maxDepth);
  if (tooDeep) return broken(syntax(`nested more than ${maxDepth} levels deep`, tooDeep.offset));

  // Their own check of unique keys takes quadratic time; ours is below.
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  const [document, second] = [...composer.compose(tokens, true, text.length)];
  if (!document) return broken(syntax('there is no document', 0));
  const faults = [...document.errors, ...document.warnings].map((fault) => syntax(fault.message, fault.pos[0]));
  if (second) faults.push(syntax('there is a second document in the file', second.range?.[0] ?? 0));
  if (faults.length > 0) return broken(...faults);

  const problems = treeProblems(document, place);
  if (problems.some((problem) => problem.code === 'manifest.syntax')) return broken(...problems);
  try {
    const value: unknown = document.toJS();
    return { value, problems, positionOf: (problem) => place(problem.offset ?? offsetOf(document, problem)) };
  } catch (cause) {
    // Aliases that multiply without end show only now.
    return broken(syntax(cause instanceof Error ? cause.message : String(cause), 0));
  }
}

function syntax(message: string, offset: number): Problem {
  return { code: 'manifest.syntax', path: [], message, offset };
}

/** Level by level, since recursion is what this protects from. */
function firstBelow(tokens: readonly CST.Token[], depth: number): CST.Token | undefined {
  let level: readonly CST.Token[] = tokens;
  for (let at = 0; at <= depth; at++) level = level.flatMap(childrenOf);
  return level[0];
}

function childrenOf(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : [];
  if (!('items' in token)) return [];
  return token.items.flatMap((item) => [item.key, item.value]).filter((child) => child !== null && child !== undefined);
}

function treeProblems(document: Document, place: (offset: number) => { line: number }): Problem[] {
  const { isScalar, visit } = wholeYaml();
  const problems: Problem[] = [];
  const anchors = new Set<string | undefined>();
  visit(document, {
    Alias(_, { source, range }) {
      if (!anchors.has(source)) problems.push(syntax(`there is no anchor &${source} before this`, range?.[0] ?? 0));
    },
    Value(_, node) {
      anchors.add(node.anchor);
    },
    Map(_, map, ancestors) {
      anchors.add(map.anchor);
      const seen = new Map<string, number>();
      for (const { key } of map.items) {
        const offset = (key as Node | null)?.range?.[0] ?? map.range?.[0] ?? 0;
        if (!isScalar(key) || key.value === null) {
          problems.push(syntax('a key must be plain text', offset));
          continue;
        }
        const name = String(key.value);
        const path = () => [...pathTo(map, ancestors), name];
        // The schema would overlook it, as many libraries do for fear of what it means in JavaScript.
        if (name === '__proto__') problems.push({ code: 'manifest.unknown_key', path: path(), message: `unknown key ${name}`, offset });
        const first = seen.get(name);
        if (first === undefined) {
          seen.set(name, offset);
          continue;
        }
        const message = `${name} stands here again, first in line ${place(first).line}`;
        problems.push({ code: 'manifest.duplicate_key', path: path(), message, offset });
      }
    },
  });
  return problems;
}

function pathTo(node: Node, ancestors: readonly unknown[]): Path {
  const { isPair, isSeq } = wholeYaml();
  return ancestors.flatMap((ancestor, index): PropertyKey[] => {
    if (isPair(ancestor)) return [String(ancestor.key)];
    return isSeq(ancestor) ? [ancestor.items.indexOf(ancestors[index + 1] ?? node)] : [];
  });
}

/** Where the path leads, or the last part of it that exists. */
function offsetOf(document: Document, { path, at = 'value' }: Problem): number {
  const { isAlias, isMap, isScalar, isSeq } = wholeYaml();
  let node: unknown = document.contents;
  let offset = (document.contents as Node | null)?.range?.[0] ?? 0;
  for (const [index, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node)) {
      node = node.items[Number(part)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
      continue;
    }
    if (!isMap(node)) return offset;
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
    if (!pair) return offset;
    const wanted = at === 'key' && index === path.length - 1 ? pair.key : pair.value;
    node = pair.value;
    offset = (wanted as Node | null)?.range?.[0] ?? (pair.key as Node).range?.[0] ?? offset;
  }
  return offset;
}
