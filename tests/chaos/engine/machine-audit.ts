/** What is left on the machine: processes, groups, mounts, descriptors, sockets and folders that belong to nothing that lives. */

import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../../../packages/box/src/config.ts';
import { examine } from '../../../packages/box/src/doctor.ts';
import { sandboxGroups, sandboxProcesses, temporaryFiles } from '../../support/leftovers.ts';
import { sandboxFacts } from './audit.ts';
import { descendantsOf, pidsOf } from './processes.ts';
import type { Host, World } from './world.ts';

const settleMs = 12_000;
/** Beside what a server with a full pool and a few connections has: more is a leak. */
const mostDescriptors = 200;

/** While the servers run: what stands ready for them is theirs. */
export async function auditMachine(world: World): Promise<string[]> {
  for (const deadline = Date.now() + settleMs; ; await delay(100)) {
    const found = (await Promise.all(world.hosts.map((host) => strangers(world, host)))).flat();
    if (found.length === 0 || Date.now() > deadline) return [...found, ...(await doctor(world))];
  }
}

async function strangers(world: World, host: Host): Promise<string[]> {
  const { server, former, stateRoot } = host;
  const own = new Set([server.pid, ...descendantsOf(server.pid)]);
  const living = new Set(
    (await sandboxFacts(world))
      .filter(({ state, host: owner }) => owner === server.host && ['ready', 'paused'].includes(state))
      .map(({ id }) => id),
  );
  const found: string[] = [];
  for (const { server: dead, goneAt } of former)
    for (const line of sandboxProcesses(dead.firstUid, goneAt)) found.push(`process of a server that is gone: ${line}`);
  for (const line of sandboxProcesses(server.firstUid)) if (!own.has(Number.parseInt(line, 10))) found.push(`process of nobody: ${line}`);
  for (const group of sandboxGroups(server.host)) {
    const pids = pidsOf(group);
    if (!pids.some((pid) => own.has(pid))) found.push(`cgroup of nobody: ${group} (${pids.join(' ')})`);
  }
  found.push(...(await withoutRecord(host, living)));
  for (const id of living) if (!existsSync(join(stateRoot, 'sandboxes/living', id))) found.push(`sandbox ${id} has no disk`);
  found.push(...temporaryFiles(stateRoot).map((path) => `temporary file ${path}`));
  found.push(...mountsBelow(stateRoot, server.pid), ...descriptors(server.pid));
  return found;
}

/** Groups, disks and sockets of living sandboxes that no record owns, but for those that stand ready for a create. */
async function withoutRecord({ server, stateRoot }: Host, living: ReadonlySet<string>): Promise<string[]> {
  const found = new Map<string, string[]>();
  const see = (id: string, what: string): void => {
    if (!living.has(id)) found.set(id, [...(found.get(id) ?? []), what]);
  };
  for (const group of sandboxGroups(`${server.host}-living`))
    see(basename(group), `cgroup of no sandbox: ${group} (${pidsOf(group).join(' ')})`);
  for (const [folder, idOf] of folders) {
    const path = join(stateRoot, folder);
    for (const name of existsSync(path) ? readdirSync(path) : []) see(idOf(name), `${folder}/${name} of no sandbox`);
  }
  const ready = /^skillbox_pool_ready (\d+)$/m.exec(await (await server.request('/metrics')).text())?.[1];
  return found.size > Number(ready) ? [...found.values()].flat() : [];
}

const folders: readonly (readonly [string, (name: string) => string])[] = [
  ['sandboxes/living', (name) => name],
  ['run/bubblewrap/living', (name) => name.replace(/\.(sock|pid|log)$/, '')],
  ['run/channels', (name) => name],
];

/** In our view of the machine, and in the server's own. */
function mountsBelow(stateRoot: string, pid: number): string[] {
  return ['self', String(pid)].flatMap((who) =>
    readFileSync(`/proc/${who}/mountinfo`, 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '')
      .filter((point) => point.startsWith(`${stateRoot}/`))
      .map((point) => `mount ${point}`),
  );
}

function descriptors(pid: number): string[] {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const found = links
    .filter((link) => link.endsWith(' (deleted)') && link.includes('skillbox-process-'))
    .map((link) => `descriptor of ${link}`);
  if (links.length > mostDescriptors) found.push(`${links.length} descriptors`);
  return found;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed between the listing and the look.
    return '';
  }
}

/** As an operator would run it beside the server. */
async function doctor(world: World): Promise<string[]> {
  const findings: string[] = [];
  for (const { stateRoot } of world.hosts) {
    const checks = await examine(() => loadConfig({ cwd: stateRoot, env: { PATH: process.env.PATH, SKILLBOX_STATE_ROOT: stateRoot } }));
    // The small disk of a test is no finding.
    for (const { name, state, detail } of checks)
      if (state === 'missing' || (state === 'warn' && name !== 'disk' && !name.endsWith('dependencies')))
        findings.push(`doctor: ${name}: ${detail}`);
  }
  return findings;
}
