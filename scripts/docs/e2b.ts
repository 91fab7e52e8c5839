/** docs/e2b.md: every method of the E2B SDK, with the test that calls it or why none does. A method with neither fails. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { code, generatedNote, table } from './markdown.ts';

const root = join(import.meta.dirname, '../..');
const tests = ['e2b.test.ts', 'e2b-commands.test.ts', 'e2b-files.test.ts'];

interface SdkClass {
  readonly title: string;
  /** How the tests write what its methods are called on. */
  readonly receiver: string;
  readonly shown: string;
  /** Where to look first. */
  readonly test: string;
}

const classes: Record<string, SdkClass> = {
  Sandbox: { title: 'Sandbox', receiver: '(?:sandbox|woken|copy|fork|mine|other)', shown: 'sandbox', test: 'e2b.test.ts' },
  Commands: { title: 'Commands', receiver: 'commands', shown: 'sandbox.commands', test: 'e2b-commands.test.ts' },
  CommandHandle: {
    title: 'A command in the background',
    receiver: '(?:command|again|another|one|joined|terminal)',
    shown: 'command',
    test: 'e2b-commands.test.ts',
  },
  Pty: { title: 'Terminals', receiver: 'pty', shown: 'sandbox.pty', test: 'e2b-commands.test.ts' },
  Filesystem: { title: 'Files', receiver: 'files', shown: 'sandbox.files', test: 'e2b-files.test.ts' },
  WatchHandle: { title: 'A watch', receiver: 'watch', shown: 'watch', test: 'e2b-files.test.ts' },
  Git: { title: 'Git', receiver: 'git', shown: 'sandbox.git', test: 'e2b-commands.test.ts' },
  SandboxPaginator: { title: 'Lists', receiver: '(?:paginator|list\\([^\\n]*\\))', shown: 'Sandbox.list()', test: 'e2b.test.ts' },
  SnapshotPaginator: { title: 'Lists', receiver: 'listSnapshots\\([^\\n]*\\)', shown: 'Sandbox.listSnapshots()', test: 'e2b.test.ts' },
};

/** Answered with an error that says so, which a test shows. */
const refused: readonly string[] = [];

/** Why no test calls it. */
const reasons: Record<string, string> = {
  'sandbox.getMcpUrl': 'only forms an address; this box runs no MCP gateway inside sandboxes: use `/mcp` of the box',
  'sandbox.getMcpToken': 'reads a file of E2B’s MCP gateway, which this box does not run inside sandboxes',
  'sandbox.git.dangerouslyAuthenticate': 'stores a password inside the sandbox; it is plain `git`, and works as `git` there does',
};

/** Whole parts of the SDK that this box has no counterpart for. */
const absent: Record<string, string> = {
  'Template.*': 'templates are in the manifest or made with `/v1/templates`; images are not built here',
  'Volume.*': 'no volumes: a snapshot carries a disk from one sandbox to others',
  'Secret.*': 'secrets are the operator’s and never enter a sandbox',
};

export function renderE2b(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/e2b/package.json'), 'utf8')) as { version: string };
  const rows = Object.entries(publicMethods()).map(([name, methods]) => [name, methods.map((method) => row(name, method))] as const);
  const titles = [...new Set(Object.values(classes).map(({ title }) => title))];
  const sections = titles.map((title) => {
    const own = rows.filter(([name]) => classes[name]?.title === title).flatMap(([, list]) => list);
    return `### ${title}\n\n${table(['method', 'works', 'shown by'], own)}`;
  });
  return `${generatedNote}

# E2B

Code written for [E2B](https://e2b.dev) runs against a box with its public SDK, unmodified. Three variables point it there:

\`\`\`sh
export E2B_API_URL=http://127.0.0.1:8080/e2b
export E2B_SANDBOX_URL=http://127.0.0.1:8080/e2b
export E2B_API_KEY=$(cat .skillbox-state/admin.key)
\`\`\`

A key of the box has the form \`sk-\` and 48 hex digits; the same digits after \`e2b_\` are the same key, for SDKs that insist on that form. It needs the scopes \`sandboxes:read\` and \`sandboxes:use\`. [\`examples/e2b/script.mjs\`](../examples/e2b/script.mjs) is such a script, and a test runs it.

What it makes are [sandboxes](architecture.md) of the box like any others: \`skillbox sandbox list\` shows them, metadata are their labels, \`base\` is the box's template of that name.

## What differs from E2B's cloud

- **Pause** keeps the disk, not the memory: programs end, files stay. Connecting wakes the sandbox; until then it answers as one that does not run. What the box itself put to rest because nobody used it wakes with the next call.
- **A restart of the box** ends no program: \`commands.connect\` joins one that runs, and, once, one that ended while nobody listened, with all that is kept of its output and its exit code.
- **Users**: everything belongs to \`user\`, whose home is \`/home/user\`; there is no \`root\`. The rest of the file system, except \`/tmp\`, is read-only.
- **Network** is the template's, which may be [none, or a list](network.md). \`allowOut\` at creation and in \`updateNetwork\` chooses hosts within that list, \`allowInternetAccess: false\` or \`denyOut: ['0.0.0.0/0']\` none; without them it is the template's. Ranges, other denials, \`rules\`, \`egressProxy\`, \`maskRequestHost\` and \`httpsPorts\` are refused with 501, not ignored. So are \`mcp\`, \`volumeMounts\` and metadata of files.
- **Ports**: \`getHost(port)\` gives \`<port>-<sandbox>.<domain>\` where \`SKILLBOX_PREVIEW_DOMAIN\` names a wildcard domain that leads to the box. Without one a server inside is at \`<box>/preview/<sandbox>/<port>/\`, with the key as \`Authorization: Bearer\`.
- **A fork or snapshot** is of the disk.
- **Signed addresses** lead to \`<box>/files\`: the SDK drops the path of \`E2B_SANDBOX_URL\` from them.

## Methods of e2b ${version}

${sections.join('\n\n')}

### Not here

${table(
  ['part', 'why'],
  Object.entries(absent).map(([part, why]) => [code(part), why]),
)}
`;
}

interface SdkMethod {
  readonly name: string;
  readonly isStatic: boolean;
}

/** From the declarations the SDK ships. What Sandbox inherits counts as its own. */
function publicMethods(): Record<string, SdkMethod[]> {
  const text = readFileSync(join(root, 'node_modules/e2b/dist/index.d.ts'), 'utf8');
  const found: Record<string, SdkMethod[]> = Object.fromEntries(Object.keys(classes).map((name) => [name, []]));
  ts.createSourceFile('index.d.ts', text, ts.ScriptTarget.Latest, true).forEachChild((node) => {
    if (!ts.isClassDeclaration(node)) return;
    const own = found[node.name?.text === 'SandboxApi' ? 'Sandbox' : (node.name?.text ?? '')];
    for (const member of node.members) {
      const flags = ts.getCombinedModifierFlags(member);
      if (!own || !ts.isMethodDeclaration(member) || flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) continue;
      const method = { name: member.name.getText(), isStatic: Boolean(flags & ts.ModifierFlags.Static) };
      if (!own.some(({ name, isStatic }) => name === method.name && isStatic === method.isStatic)) own.push(method);
    }
  });
  return found;
}

function row(className: string, { isStatic, name }: SdkMethod): string[] {
  const { receiver, shown, test: first } = classes[className] as SdkClass;
  const label = `${isStatic ? className : shown}.${name}`;
  const call = new RegExp(`\\b${isStatic ? className : receiver}\\.${name}\\(`);
  const test = testThatCalls(call, [first, ...tests.filter((file) => file !== first)]);
  const reason = reasons[label];
  if (!test && !reason) throw new Error(`No test of ${tests.join(', ')} calls ${label}: add one, or say why not in scripts/docs/e2b.ts.`);
  if (test && reason) throw new Error(`${label} has a test: take its reason out of scripts/docs/e2b.ts.`);
  return [code(label), refused.includes(label) ? 'refused' : test ? 'yes' : 'no', test ?? reason ?? ''];
}

/** The first one, by its name. */
function testThatCalls(call: RegExp, files: readonly string[]): string | undefined {
  for (const file of files) {
    const text = readFileSync(join(root, 'tests/e2e', file), 'utf8');
    for (const [, name, body = ''] of text.matchAll(/^ {2}it\('([^']+)'([\s\S]*?)^ {2}\}\);$/gm))
      if (call.test(body)) return `[${name}](../tests/e2e/${file})`;
  }
  return undefined;
}
