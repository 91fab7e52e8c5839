/** Every command of the registry has a place in the dashboard, or a reason why not. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { inShell, leftOut } from '../../packages/web/src/pages/left-out.ts';
import type { PageInfo } from '../../packages/web/src/pages/page.ts';

const folder = join(import.meta.dirname, '../../packages/web/src/pages');
const pages: PageInfo[] = [];
for (const entry of readdirSync(folder, { withFileTypes: true }))
  if (entry.isDirectory()) pages.push(((await import(join(folder, entry.name, 'page.ts'))) as { page: PageInfo }).page);

describe('commands in the dashboard', () => {
  const named = [...pages.flatMap((page) => page.commands), ...inShell, ...Object.keys(leftOut)];

  it('are all there, or left out for a reason', () => {
    expect(commands.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
  });

  it('are commands that exist, and not both there and left out', () => {
    const known = new Set(commands.map(({ name }) => name));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    const shown = new Set([...pages.flatMap((page) => page.commands), ...inShell]);
    expect(Object.keys(leftOut).filter((name) => shown.has(name))).toEqual([]);
    for (const reason of Object.values(leftOut)) expect(reason.length).toBeGreaterThan(10);
  });

  it('are asked for with a scope that the page checks', () => {
    const titles = pages.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    expect(new Set(pages.map(({ order }) => order)).size).toBe(pages.length);
  });
});
