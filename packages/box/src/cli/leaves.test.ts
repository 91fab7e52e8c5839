import { describe, expect, it } from 'vitest';
import { commands } from '../commands/registry.ts';
import { groups } from './families.ts';
import { helpPages } from './help-pages.ts';
import { leaves } from './leaves.ts';
import { decode } from './parameters.ts';
import { parseInvocation } from './program.ts';
import { polished, withoutFace } from './remote.ts';

const id = '7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11';
const sandboxId = `i${'0'.repeat(19)}`;
const snapshotId = `s${'0'.repeat(19)}`;
const nothing = () => undefined;

describe('the commands of the shell', () => {
  it('are all the commands of the registry, but for those with a reason', () => {
    const faceless = commands.filter((command) => !command.cli).map((command) => command.name);
    expect(faceless.sort()).toEqual(Object.keys(withoutFace).sort());
  });

  it('have their own file exactly where the registry says so', () => {
    const marked = commands.filter((command) => command.cli?.polished).map((command) => command.name);
    expect(marked.sort()).toEqual(Object.keys(polished).sort());
  });

  it('have words and names of their own, and a place in the help text', () => {
    expect(new Set(leaves.map((leaf) => leaf.words)).size).toBe(leaves.length);
    expect(new Set(leaves.map((leaf) => leaf.name)).size).toBe(leaves.length);
    const known = groups.flatMap(({ words }) => words);
    expect(leaves.map((leaf) => leaf.words.split(' ')[0]).filter((word) => !known.includes(word ?? ''))).toEqual([]);
  });

  it.each(leaves.map((leaf) => [leaf.words, leaf] as const))('%s: its examples are calls of it that can be understood', (_words, leaf) => {
    expect(leaf.examples.length).toBeGreaterThan(0);
    for (const example of leaf.examples) {
      const [, call = ''] = /skillbox ([^)>]*)/.exec(example) ?? [];
      const invocation = parseInvocation(shellWords(withIds(call)), leaves, nothing);
      expect(invocation?.leaf.words).toBe(leaf.words);
      expect(() => invocation && decode(leaf, invocation.given)).not.toThrow();
    }
  });
});

describe('help', () => {
  it('has a page for every command, with its examples', () => {
    const pages = helpPages();
    for (const leaf of leaves) {
      expect(pages[leaf.words]).toContain(`Usage: skillbox ${leaf.words}`);
      expect(pages[leaf.words]).toContain(leaf.summary.slice(0, 40));
      for (const example of leaf.examples) expect(pages[leaf.words]).toContain(`  ${example}\n`);
    }
    expect(pages['']).toContain('skillbox up');
    expect(pages.skill).toContain('push <path>');
  });

  it('fits into 80 columns, examples aside', () => {
    for (const page of Object.values(helpPages())) {
      const [text = ''] = page.split('\nExamples:');
      expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });
});

describe('flags', () => {
  const parse = (...argv: string[]) => parseInvocation(argv, leaves, nothing);

  it('of every command stand before or after its name; the nearest wins', () => {
    const invocation = parse('-s', 'http://a', '--json', 'skill', '-k', 'k1', 'list', '-s', 'http://b', '--limit', '3');
    expect(Object.fromEntries(invocation?.globals ?? [])).toEqual({ server: 'http://b', 'api-key': 'k1', json: true });
    expect(Object.fromEntries(invocation?.given ?? [])).toEqual({ limit: '3' });
  });

  it('--tenant of a command is its own, -t is the one of every command', () => {
    const invocation = parse('key', 'create', 'x', '--tenant', 'acme', '-t', 'other');
    expect(invocation?.given.get('tenant')).toBe('acme');
    expect(invocation?.globals.get('tenant')).toBe('other');
    expect(parse('-t', 'other', 'key', 'create', 'x')?.given.has('tenant')).toBe(false);
  });

  it('are repeated for lists and turned off with --no-', () => {
    const invocation = parse('run', 's', '--env', 'A=1', '--env', 'B=2', '--no-wait');
    expect(invocation?.given.get('env')).toEqual(['A=1', 'B=2']);
    expect(invocation?.given.get('wait')).toBe(false);
  });

  it.each([
    [['skil'], "Unknown command 'skil'.", 'Did you mean skill?'],
    [['skill', 'lsit'], "Unknown command 'lsit'.", 'Did you mean list?'],
    [['run', 'x', '--inptu', '1'], "Unknown flag '--inptu'.", 'Did you mean --input?'],
    [['run'], "Missing required argument 'skill'.", 'skillbox run --help'],
    [['exec', 'show', id, 'more'], 'Too many arguments', 'skillbox exec show --help'],
    [['run', 'x', '--input'], 'argument missing', 'skillbox run --help'],
  ])('%j is told with what was probably meant', (argv, message, hint) => {
    expect(() => parse(...argv)).toThrow(
      expect.objectContaining({ code: 'usage', exit: 2, message: expect.stringContaining(message), hint: expect.stringContaining(hint) }),
    );
  });
});

/** As a shell splits them: quotes keep blanks together. */
function shellWords(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Ids as their kind has them, for examples that say ID. */
function withIds(call: string): string {
  const own = call.startsWith('sandbox snapshot-delete') ? snapshotId : sandboxId;
  return call.replace(/\bID\b/g, /^(sandbox|sb) /.test(call) ? own : id).replace(/\bSNAPSHOT\b/g, snapshotId);
}
