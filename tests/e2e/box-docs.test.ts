/** docs/box.md: its first steps work as they are written, and its tables have every row of the other skillbox and commands that exist. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaves } from '../../packages/box/src/cli/leaves.ts';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { withoutTool } from '../../packages/box/src/server/mcp/command-tools.ts';
import { toolNameOfCommand } from '../../packages/box/src/server/mcp/names.ts';
import { builtCli } from './cli-process.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/box.md'), 'utf8');
const settings = readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');

/** What the seed's tables list, by name. */
const seed = {
  'Make targets':
    `bootstrap-env render doctor runtime-render runtime-sync runtime-status runtime-bootstrap runtime-up runtime-down runtime-restart
    runtime-logs onboard context dev-sanity pulse-start pulse-stop pulse-status build up up-surfaces down shell logs swimmers-install swimmers-start
    swimmers-stop swimmers-restart swimmers-status swimmers-logs swimmers-runtime-status box-up box-down box-status box-list box-ssh box-profiles`
      .split(/\s+/)
      .map((name) => `make ${name}`),
  Scripts: [
    ...['01-bootstrap-do.sh', '02-install-tailscale.sh', '04-reconcile.py render', '04-reconcile.py doctor', '05-swimmers.sh'],
    ...['operator_mcp_server.py', 'guard-destructive-op.sh'],
  ]
    .map((name) => `scripts/${name}`)
    .concat(
      `context focus render sync doctor status bootstrap up down restart logs client-init first-box private-init client-project client-open
        client-diff client-publish`
        .split(/\s+/)
        .map((name) => `.env-manager/manage.py ${name}`),
      '.env-manager/pulse.py',
    ),
  'Environment variables':
    `NAME STATE_ROOT WORKSPACE_ROOT REPOS_ROOT SKILLS_ROOT LOG_ROOT HOME_ROOT MONOSERVER_ROOT CLIENTS_ROOT CLIENTS_HOST_ROOT
    MONOSERVER_HOST_ROOT API_PORT WEB_PORT SWIMMERS_PORT SWIMMERS_PUBLISH_HOST SWIMMERS_REPO SWIMMERS_INSTALL_DIR SWIMMERS_BIN SWIMMERS_DOWNLOAD_URL
    SWIMMERS_DOWNLOAD_SHA256 SWIMMERS_AUTH_MODE SWIMMERS_AUTH_TOKEN SWIMMERS_OBSERVER_TOKEN DCG_BIN DCG_DOWNLOAD_URL DCG_DOWNLOAD_SHA256 DCG_PACKS
    PULSE_INTERVAL DCG_MCP_PORT FWC_BIN FWC_DOWNLOAD_URL FWC_DOWNLOAD_SHA256 FWC_MCP_PORT FWC_ZONE FWC_CONNECTORS DO_TOKEN DO_SSH_KEY_ID TS_AUTHKEY`
      .split(/\s+/)
      .map((name) => `SKILLBOX_${name}`),
  'MCP tools':
    `status render sync up down restart logs bootstrap context doctor focus onboard client_init client_diff pulse session_start session_event
    session_end session_resume session_status`
      .split(/\s+/)
      .map((name) => `skillbox_${name}`)
      .concat(
        'boxes profiles box_status provision teardown box_exec compose_up compose_down doctor render'
          .split(' ')
          .map((name) => `operator_${name}`),
      ),
} as const;

interface Row {
  readonly there: string;
  readonly here: string;
  readonly why: string;
}

function rowsOf(title: string): Row[] {
  const [, section = ''] = text.split(`\n### ${title}\n`);
  const lines =
    section
      .split('\n### ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `')) ?? [];
  return lines.map((line) => {
    const [there = '', here = '', why = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return { there: there.replaceAll('`', ''), here, why };
  });
}

/** `skillbox up` and the like, in a cell. */
const named = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');

describe('the tables', () => {
  it.each(Object.entries(seed))('%s: every row of the other, in its order, and none besides', (title, names) => {
    expect(rowsOf(title).map(({ there }) => there)).toEqual(names);
  });

  it('say why, where there is nothing, and which work brings what comes later', () => {
    for (const { there, here, why } of Object.keys(seed).flatMap(rowsOf)) {
      if (here === 'none') expect(why.length, there).toBeGreaterThan(5);
      else if (here === 'later')
        expect(['clients', 'clients and publishing', 'fleet', 'guard', 'swimmers', 'compose'], there).toContain(why);
      else expect(named(here), there).not.toEqual([]);
    }
  });

  it('name variables that are settings here', () => {
    const own = rowsOf('Environment variables').flatMap(({ here }) => named(here));
    expect(own.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
  });

  it('name tools that there are', () => {
    const tools = commands.filter(({ name }) => !Object.hasOwn(withoutTool, name)).map(({ name }) => toolNameOfCommand(name));
    const own = rowsOf('MCP tools').flatMap(({ here, why }) => [...named(here), ...named(why)]);
    expect(own.filter((name) => !tools.includes(name))).toEqual([]);
  });
});

let folder: string;
let env: Record<string, string>;
const firstSteps = text.split('\n## ').find((part) => part.startsWith('From nothing')) ?? '';

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function shell(script: string): Promise<Ran> {
  return new Promise((resolve) => {
    execFile('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: folder, env, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-box-docs-'));
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  writeFileSync(join(programs, 'skillbox'), `#!/bin/sh\nexec '${process.execPath}' '${builtCli}' "$@"\n`, { mode: 0o755 });
  const port = await freePort();
  env = { PATH: `${programs}:${process.env.PATH}`, HOME: folder, SKILLBOX_API_PORT: await freePort() };
  // The files that the page has, at the places it names.
  for (const [, name = '', content = ''] of firstSteps.matchAll(/`my-box\/([^`]+)`:\n\n {3}```yaml\n([\s\S]*?) {3}```/g)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content.replace(/^ {3}/gm, '').replaceAll('7321', port));
  }
});
afterAll(async () => {
  await shell('skillbox down');
  rmSync(folder, { recursive: true, force: true });
});

describe('the first steps', () => {
  const blocks = [...firstSteps.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => (match[1] ?? '').replace(/^ {3}/gm, ''));

  it('are there', () => expect(blocks.length).toBe(4));

  it.each(blocks.map((block) => [block.trim().split('\n')[0], block] as const))('%s …', async (_first, block) => {
    const ran = await shell(block);
    expect({ ...ran, stdout: '' }, ran.stdout).toEqual({ code: 0, stdout: '', stderr: expect.any(String) });
    if (block.includes('focus personal'))
      expect(readFileSync(join(folder, '.skillbox-state/home/.claude/CLAUDE.md'), 'utf8')).toContain('personal');
    if (block.includes('pulse status')) expect(ran.stdout).toMatch(/running, pid \d+.*1 restart/);
  });
});

describe('each command of the tables', () => {
  const all = [...new Set(['Make targets', 'Scripts'].flatMap((title) => rowsOf(title).flatMap(({ here }) => named(here))))];
  /** These change much, or wait for a person: that they exist is enough here; the first steps ran most of them. */
  const helpOnly = /^skillbox (focus|shell|pulse st(art|op))/;
  const dry = /^skillbox (sync|bootstrap|up|down|restart|context)/;

  it.each(all)('%s', async (command) => {
    const words = command.split(' ').slice(1);
    expect(leaves.some((leaf) => words.join(' ').startsWith(leaf.words))).toBe(true);
    const more = helpOnly.test(command) ? '--help' : dry.test(command) && !command.includes('--dry-run') ? '--dry-run --json' : '';
    const ran = await shell(`${command} ${more}`);
    // 2 is drift: the box is down here.
    expect([0, 2], `${ran.stdout}\n${ran.stderr}`).toContain(ran.code);
    if (more.includes('--json')) expect(() => JSON.parse(ran.stdout)).not.toThrow();
  });
});
