import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Provider, RunLimits, RunRequest } from '../../provider.ts';
import { openBubblewrap } from './provider.ts';

const limits: RunLimits = {
  timeoutMs: 5000,
  memoryBytes: 256 * 2 ** 20,
  cpu: 1,
  processes: 32,
  openFiles: 256,
  diskBytes: 32 * 2 ** 20,
  logBytes: 65_536,
  outputBytes: 65_536,
  artifacts: 5,
  artifactBytes: 4 * 2 ** 20,
};

describe('bubblewrap runs one program', () => {
  let provider: Provider;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'skillbox-provider-'));
    const runFolder = join(folder, 'run');
    provider = await openBubblewrap({
      runFolder,
      diskFolder: join(folder, 'disks'),
      owner: `test-${process.pid}`,
      standby: 1,
      warmMemory: 0,
      warmCopies: 'never',
      warmIdleMs: 0,
      interpreters: {},
      acceptMissing: [],
      paths: [],
      onWarning: (message) => expect.fail(message),
    });
  });

  afterAll(async () => {
    await provider.close();
    rmSync(folder, { recursive: true });
  });

  it('has every layer on this host', () => {
    expect(provider.report.layers.filter((layer) => !layer.present)).toEqual([]);
    expect(provider.report.ready).toBe(true);
  });

  it('gives output, files and the true exit code', async () => {
    const { result, logs, artifacts } = await bash(
      'echo out; echo err >&2; mkdir -p out/files/a; echo \'{"x":1}\' > out/output.json; head -c 600000 /dev/zero > out/files/a/big; exit 3',
    );
    expect(result).toMatchObject({ end: 'exited', exitCode: 3, signal: null, outOfMemory: false, problem: null });
    expect(logs.sort()).toEqual(['stderr:err\n', 'stdout:out\n']);
    expect(result.output?.toString()).toBe('{"x":1}\n');
    expect(artifacts).toEqual([['a/big', 600_000]]);
  });

  it('writes inputs of any length', async () => {
    const data = Buffer.alloc(3 * 2 ** 20, 'abc');
    const { logs } = await bash('wc -c < /sandbox/input/deep/er.bin; tail -c 3 /sandbox/input/deep/er.bin', {
      inputs: [{ path: '/sandbox/input/deep/er.bin', data }],
    });
    expect(logs.join('')).toContain(String(data.length));
  });

  it('ends what runs too long, with its logs', async () => {
    const { result, logs } = await bash('echo before; sleep 60', { limits: { ...limits, timeoutMs: 200 } });
    expect(result).toMatchObject({ end: 'timeout', signal: 'SIGKILL' });
    expect(logs).toEqual(['stdout:before\n']);
  });

  it('ends what is cancelled', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const { result } = await bash('sleep 60', { signal: controller.signal });
    expect(result.end).toBe('cancelled');
  });

  it('ends what is cancelled before it started', async () => {
    const { result } = await bash('sleep 60', { signal: AbortSignal.abort() });
    expect(result.end).toBe('cancelled');
  });

  it('says that memory ran out', async () => {
    const { result } = await bash('x=$(head -c 300000000 /dev/zero | tr "\\0" x); echo $x | wc -c', {
      limits: { ...limits, memoryBytes: 32 * 2 ** 20 },
    });
    expect(result.outOfMemory).toBe(true);
  });

  it('reports a signal', async () => {
    const { result } = await bash('kill -SEGV $$');
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGSEGV' });
  });

  it('cuts a flood of output inside and says how much was dropped', async () => {
    const { result, logs } = await bash('head -c 5000000 /dev/zero');
    expect(logs.join('').length).toBeLessThan(70_000);
    expect(result.droppedLogBytes).toBe(5_000_000 - 65_536);
  });

  it.each([
    ['output_not_a_file', 'ln -s /etc/passwd out/output.json'],
    ['output_not_a_file', 'mkfifo out/output.json'],
    ['output_not_a_file', 'mkdir out/output.json'],
    ['output_too_large', 'head -c 100000 /dev/zero > out/output.json'],
    ['output_too_large', 'head -c 9000000 /dev/zero > out/output.json'],
    ['too_many_artifacts', 'touch out/files/{1..9}'],
    ['artifact_too_large', 'head -c 5000000 /dev/zero > out/files/x'],
  ])('%s: %s', async (problem, script) => {
    const { result } = await bash(script);
    expect(result.problem).toBe(problem);
  });

  it('leaves behind what is not a file', async () => {
    const { result, artifacts } = await bash('cd out/files; ln -s /etc/passwd link; mkfifo pipe; echo x > file');
    expect(artifacts).toEqual([['file', 2]]);
    expect(result.skipped.map(({ path, kind }) => `${path} ${kind}`).sort()).toEqual(['link symbolic link', 'pipe fifo']);
  });

  async function bash(script: string, overrides: Partial<RunRequest> = {}) {
    writeFileSync(join(folder, 'script'), script);
    const logs: string[] = [];
    const artifacts: [string, number][] = [];
    const result = await provider.runOnce({
      id: 'test',
      skillFolder: folder,
      argv: ['/usr/bin/bash', '-c', script],
      env: { PATH: '/usr/bin:/bin' },
      inputs: [],
      limits,
      signal: new AbortController().signal,
      onOutput: (stream, bytes) => logs.push(`${stream}:${bytes}`),
      onArtifact: async (path, size, content) => {
        const length = Buffer.isBuffer(content) ? content.length : (await text(content)).length;
        expect(length).toBe(size);
        artifacts.push([path, size]);
      },
      ...overrides,
    });
    return { result, logs, artifacts };
  }
});
