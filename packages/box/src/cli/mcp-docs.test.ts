import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { leaves } from './leaves.ts';
import { fileOf } from './mcp-clients.ts';
import { parseInvocation } from './program.ts';

const page = readFileSync(new URL('../../../../docs/mcp.md', import.meta.url), 'utf8');

it('docs/mcp.md names commands that there are', () => {
  const inline = [...page.matchAll(/`(skillbox (?:mcp|skill|key)[^`\n]*)`/g)].map(([, call = '']) => call);
  const blocks = [...page.matchAll(/^skillbox .*$/gm)].map(([call]) => call);
  expect(inline.length + blocks.length).toBeGreaterThan(6);
  for (const call of [...inline, ...blocks])
    expect(parseInvocation(call.split(' ').slice(1), leaves, () => undefined)?.leaf.words, call).toBeDefined();
});

it('docs/mcp.md names the files that are written', () => {
  for (const client of ['claude', 'codex', 'opencode', 'cursor', 'vscode'] as const) {
    const row = page.split('\n').find((line) => line.includes(`mcp install ${client}\``));
    expect(row).toContain(`(\`${fileOf(client, true)}\`)`.replace('(`.mcp.json`)', '`.mcp.json`)'));
    if (client !== 'vscode') expect(row).toContain(`~${fileOf(client, false).slice((process.env.HOME ?? '').length)}`);
  }
});
