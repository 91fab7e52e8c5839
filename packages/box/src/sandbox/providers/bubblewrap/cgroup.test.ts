/**
 * Both versions of cgroups against trees in a temporary folder: the files and their contents are what the kernel's
 * documentation says, and where the kernel would refuse, the test does. Version 1 also runs for real in provider.test.ts.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CgroupPlace, openCgroups } from './cgroup.ts';

const limits = { memoryBytes: 64 * 2 ** 20, processes: 33, cpu: 0.5 };
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skillbox-cgroup-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes a file of the tree, with its folders. */
const put = (path: string, text = ''): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const plainWrite = (path: string, text: string): void => writeFileSync(path, text);

const refusal = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`${code}: refused`), { code });

describe('cgroup v2', () => {
  const service = 'system.slice/skillbox.service';
  const place = (more: Partial<CgroupPlace> = {}): CgroupPlace => ({
    mountinfo: `24 1 0:22 / ${root} rw,nosuid,nodev,noexec - cgroup2 cgroup2 rw,nsdelegate\n`,
    own: `0::/${service}\n`,
    root: false,
    pid: 4242,
    write: plainWrite,
    ...more,
  });
  const delegate = (controllers = 'cpuset cpu io memory pids', enabled = ''): void => {
    put(`${service}/cgroup.controllers`, `${controllers}\n`);
    put(`${service}/cgroup.subtree_control`, enabled);
  };

  it('enables the controllers for itself and below, and puts groups there', () => {
    delegate();
    const cgroups = openCgroups('host-1', place());
    expect(cgroups).toMatchObject({ version: 2, detail: `cgroup v2 at ${root}/${service}/skillbox-host-1` });
    expect([...cgroups.available].sort()).toEqual(['cpu', 'memory', 'pids']);
    expect(read(`${service}/cgroup.subtree_control`)).toBe('+memory +pids +cpu');
    expect(read(`${service}/skillbox-host-1/cgroup.subtree_control`)).toBe('+memory +pids +cpu');
    expect(existsSync(join(root, service, 'skillbox-server'))).toBe(false);
  });

  it('leaves controllers alone that are enabled already', () => {
    delegate('cpu memory pids', 'cpu memory pids\n');
    const written: string[] = [];
    openCgroups('host-1', place({ write: (path) => void written.push(path) }));
    expect(written).toEqual([join(root, service, 'skillbox-host-1/cgroup.subtree_control')]);
  });

  it('writes every limit, swap included, and one group per sandbox', () => {
    delegate();
    const group = openCgroups('host-1', place()).create('77-1');
    const folder = `${service}/skillbox-host-1/77-1`;
    expect(group.joinFiles).toEqual([join(root, folder, 'cgroup.procs')]);
    // Files the kernel makes with the folder; older ones have no swap control.
    put(`${folder}/memory.swap.max`, 'max');
    put(`${folder}/memory.oom.group`, '0');
    group.limit(limits);
    expect(read(`${folder}/memory.max`)).toBe(String(64 * 2 ** 20));
    expect(read(`${folder}/memory.swap.max`)).toBe('0');
    expect(read(`${folder}/pids.max`)).toBe('33');
    expect(read(`${folder}/cpu.max`)).toBe('50000 100000');
    group.weigh(0.25);
    expect(read(`${folder}/cpu.weight`)).toBe('25');
  });

  it('sets limits on a kernel without swap control', () => {
    delegate();
    openCgroups('host-1', place()).create('77-1').limit(limits);
    expect(readdirSync(join(root, service, 'skillbox-host-1/77-1')).sort()).toEqual(['cpu.max', 'memory.max', 'pids.max']);
  });

  it('reads the peak, the kills for memory and the processes', () => {
    delegate();
    const group = openCgroups('host-1', place()).create('77-1');
    const folder = `${service}/skillbox-host-1/77-1`;
    expect([group.readPeakMemory(), group.readOutOfMemoryKills(), group.processes()]).toEqual([0, 0, []]);
    put(`${folder}/memory.peak`, '1048576\n');
    put(`${folder}/memory.events`, 'low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n');
    put(`${folder}/cgroup.procs`, '101\n102\n');
    expect([group.readPeakMemory(), group.readOutOfMemoryKills(), group.processes()]).toEqual([1_048_576, 2, [101, 102]]);
  });

  it('moves the server into a leaf when its own processes stand in the way', () => {
    delegate();
    const control = join(root, service, 'cgroup.subtree_control');
    const leaf = join(root, service, 'skillbox-server/cgroup.procs');
    const written: [string, string][] = [];
    const write = (path: string, text: string): void => {
      // As the kernel does: no controllers for children as long as the group itself has a process.
      if (path === control && !existsSync(leaf)) throw refusal('EBUSY');
      written.push([path.slice(root.length + service.length + 2), text]);
      plainWrite(path, text);
    };
    expect(openCgroups('host-1', place({ write })).version).toBe(2);
    expect(written).toEqual([
      ['skillbox-server/cgroup.procs', '4242'],
      ['cgroup.subtree_control', '+memory +pids +cpu'],
      ['skillbox-host-1/cgroup.subtree_control', '+memory +pids +cpu'],
    ]);
  });

  it('says why when others stand in the way too', () => {
    delegate();
    const control = join(root, service, 'cgroup.subtree_control');
    const write = (path: string, text: string): void => {
      if (path === control) throw refusal('EBUSY');
      plainWrite(path, text);
    };
    expect(openCgroups('host-1', place({ write }))).toMatchObject({ version: 0, detail: expect.stringContaining('EBUSY') });
  });

  it('is not used where nothing was delegated, and says so', () => {
    delegate();
    const write = (): void => {
      throw refusal('EACCES');
    };
    const cgroups = openCgroups('host-1', place({ write }));
    expect(cgroups.version).toBe(0);
    expect([...cgroups.available]).toEqual([]);
    expect(cgroups.detail).toContain('EACCES');
  });

  it('falls back to the top of the tree for root, and for root only', () => {
    delegate('cpu memory');
    put('cgroup.controllers', 'cpu memory pids\n');
    put('cgroup.subtree_control', 'cpu memory pids\n');
    expect(openCgroups('host-1', place()).detail).toMatch(/no pids controller there$/);
    expect(openCgroups('host-1', place({ root: true })).detail).toBe(`cgroup v2 at ${root}/skillbox-host-1`);
  });

  it('names the controllers that are missing', () => {
    delegate('cpuset io');
    expect(openCgroups('host-1', place())).toMatchObject({
      version: 0,
      detail: expect.stringContaining('no memory, pids, cpu controller'),
    });
  });

  it('sweeps what a predecessor left, and leaves other hosts alone', async () => {
    delegate();
    const cgroups = openCgroups('host-1', place());
    for (const group of ['skillbox-host-1/70-1', 'skillbox-host-1/70-2', 'skillbox-host-2/80-1']) {
      mkdirSync(join(root, service, group), { recursive: true });
    }
    rmSync(join(root, service, 'skillbox-host-1/cgroup.subtree_control'));
    await cgroups.sweep();
    expect(readdirSync(join(root, service, 'skillbox-host-1'))).toEqual([]);
    expect(readdirSync(join(root, service, 'skillbox-host-2'))).toEqual(['80-1']);
    cgroups.close();
    expect(existsSync(join(root, service, 'skillbox-host-1'))).toBe(false);
  });

  it('kills a group as a whole where the kernel can', async () => {
    delegate();
    const group = openCgroups('host-1', place()).create('77-1');
    const kill = `${service}/skillbox-host-1/77-1/cgroup.kill`;
    put(kill);
    const removed = group.remove();
    expect(read(kill)).toBe('1');
    rmSync(join(root, kill));
    expect(await removed).toBe(true);
    expect(await group.remove()).toBe(true);
  });
});

describe('cgroup v1', () => {
  const place = (names: readonly string[], more: Partial<CgroupPlace> = {}): CgroupPlace => ({
    mountinfo: names
      .map((name, index) => `${30 + index} 1 0:${index} / ${root}/${name} rw - cgroup cgroup rw,${name}\n`)
      .concat(`40 1 0:9 / ${root}/unified rw - cgroup2 cgroup2 rw\n`)
      .join(''),
    own: `${names.map((name, index) => `${index + 1}:${name}:/${name === 'memory' ? 'user/me' : ''}`).join('\n')}\n0::/\n`,
    root: true,
    pid: 4242,
    write: plainWrite,
    ...more,
  });

  it('is taken where the unified tree has no controllers, each hierarchy with its own path', () => {
    put('unified/cgroup.controllers', '\n');
    const cgroups = openCgroups('host-1', place(['cpu', 'memory', 'pids']));
    expect(cgroups).toMatchObject({ version: 1, detail: 'cgroup v1: memory, pids, cpu' });
    const group = cgroups.create('77-1');
    expect(group.joinFiles.map((file) => file.slice(root.length + 1)).sort()).toEqual([
      'cpu/skillbox-host-1/77-1/cgroup.procs',
      'memory/user/me/skillbox-host-1/77-1/cgroup.procs',
      'pids/skillbox-host-1/77-1/cgroup.procs',
    ]);
  });

  it('writes every limit, memory with swap', () => {
    const group = openCgroups('host-1', place(['cpu', 'memory', 'pids'])).create('77-1');
    put('memory/user/me/skillbox-host-1/77-1/memory.memsw.limit_in_bytes');
    group.limit(limits);
    expect(read('memory/user/me/skillbox-host-1/77-1/memory.limit_in_bytes')).toBe(String(64 * 2 ** 20));
    expect(read('memory/user/me/skillbox-host-1/77-1/memory.memsw.limit_in_bytes')).toBe(String(64 * 2 ** 20));
    expect(read('pids/skillbox-host-1/77-1/pids.max')).toBe('33');
    expect(read('cpu/skillbox-host-1/77-1/cpu.cfs_quota_us')).toBe('50000');
    group.weigh(0.25);
    expect(read('cpu/skillbox-host-1/77-1/cpu.shares')).toBe('256');
  });

  it('reads the peak and the kills for memory', () => {
    const group = openCgroups('host-1', place(['memory'])).create('77-1');
    put('memory/user/me/skillbox-host-1/77-1/memory.max_usage_in_bytes', '4096\n');
    put('memory/user/me/skillbox-host-1/77-1/memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n');
    expect([group.readPeakMemory(), group.readOutOfMemoryKills()]).toEqual([4096, 1]);
  });

  it('makes one group where controllers share a hierarchy', () => {
    const shared = place([], {
      mountinfo: `30 1 0:1 / ${root}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n31 1 0:2 / ${root}/pids rw - cgroup cgroup rw,pids\n`,
      own: '2:cpu,cpuacct:/\n1:pids:/\n',
    });
    const cgroups = openCgroups('host-1', shared);
    expect([...cgroups.available].sort()).toEqual(['cpu', 'pids']);
    expect(cgroups.create('77-1').joinFiles).toHaveLength(2);
  });

  it('takes what there is when a controller is missing', () => {
    const cgroups = openCgroups('host-1', place(['memory', 'pids']));
    expect(cgroups).toMatchObject({ version: 1, detail: 'cgroup v1: memory, pids' });
    cgroups.create('77-1').limit(limits);
    expect(existsSync(join(root, 'cpu'))).toBe(false);
  });

  it('makes a group in every hierarchy or in none', () => {
    const cgroups = openCgroups('host-1', place(['cpu', 'memory', 'pids']));
    mkdirSync(join(root, 'cpu/skillbox-host-1/77-1'));
    expect(() => cgroups.create('77-1')).toThrow('EEXIST');
    expect(readdirSync(join(root, 'memory/user/me/skillbox-host-1'))).toEqual([]);
    expect(readdirSync(join(root, 'pids/skillbox-host-1'))).toEqual([]);
  });

  it('sweeps what is left in some hierarchies only, then goes', async () => {
    const cgroups = openCgroups('host-1', place(['cpu', 'memory', 'pids']));
    mkdirSync(join(root, 'cpu/skillbox-host-1/70-1'));
    mkdirSync(join(root, 'pids/skillbox-host-1/70-2'));
    await cgroups.sweep();
    cgroups.close();
    for (const parent of ['cpu/skillbox-host-1', 'memory/user/me/skillbox-host-1', 'pids/skillbox-host-1']) {
      expect(existsSync(join(root, parent)), parent).toBe(false);
    }
  });

  it('reports a group in which something would not die', async () => {
    const group = openCgroups('host-1', place(['pids'])).create('77-1');
    // A file makes the folder stay, as a process that cannot be killed would.
    put('pids/skillbox-host-1/77-1/cgroup.procs', '\n');
    expect(await group.remove(300)).toBe(false);
  });
});

it('has version 0 and a reason where no cgroup is mounted', async () => {
  const cgroups = openCgroups('host-1', {
    mountinfo: '22 1 0:20 / /proc rw - proc proc rw\n',
    own: '',
    root: true,
    pid: 1,
    write: plainWrite,
  });
  expect(cgroups).toMatchObject({ version: 0, detail: 'no cgroup is mounted' });
  const group = cgroups.create('77-1');
  group.limit(limits);
  expect([group.joinFiles, group.readPeakMemory(), group.readOutOfMemoryKills(), await group.remove()]).toEqual([[], 0, 0, true]);
  await cgroups.sweep();
});

it('has version 0 and the reason where the folder cannot be made', () => {
  put('pids', 'a file where a folder should be');
  const mountinfo = `30 1 0:1 / ${root}/pids rw - cgroup cgroup rw,pids\n`;
  const cgroups = openCgroups('host-1', { mountinfo, own: '1:pids:/\n', root: false, pid: 1, write: plainWrite });
  expect(cgroups.version).toBe(0);
  expect(cgroups.detail).toContain('ENOTDIR');
});
