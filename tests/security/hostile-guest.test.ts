/** What the host does when pid 1 itself is the attacker: the channel speaks whatever it likes. */

import { Duplex, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunLimits, RunResult } from '../../packages/box/src/sandbox/provider.ts';
import { encodeFrame } from '../../packages/box/src/sandbox/providers/guest/channel.ts';
import { type OneShot, prepare, prepareNext, runOnce } from '../../packages/box/src/sandbox/providers/guest/run-once.ts';

const limits: RunLimits = {
  timeoutMs: 300,
  memoryBytes: 2 ** 20,
  cpu: 1,
  processes: 8,
  openFiles: 64,
  diskBytes: 2 ** 20,
  logBytes: 1000,
  outputBytes: 1000,
  artifacts: 3,
  artifactBytes: 600_000,
};

const ready = encodeFrame('R', Buffer.alloc(0));
const exited = (code = 0): Buffer => {
  const payload = Buffer.alloc(32);
  payload.writeInt32LE(code);
  return encodeFrame('Q', payload);
};
const entry = (kind: string, size: number | bigint, path: string | Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.write(kind, 'latin1');
  head.writeBigUInt64LE(BigInt(size), 1);
  return encodeFrame('N', Buffer.concat([head, Buffer.from(path as string), Buffer.alloc(1)]));
};
const file = (path: string, content: string): Buffer => Buffer.concat([entry('f', content.length, path), data(content)]);
const data = (content: string | Buffer): Buffer => encodeFrame('D', Buffer.from(content as string));
const complete = (why = 0): Buffer => encodeFrame('Z', Buffer.from([why]));

describe('an honest guest, as a measure', () => {
  it('is believed', async () => {
    const { result, artifacts, logs } = await speak([
      ready,
      encodeFrame('O', Buffer.from('hi')),
      exited(),
      file('output.json', '{}'),
      file('files/a', 'abc'),
      complete(),
    ]);
    expect(result).toMatchObject({ end: 'exited', exitCode: 0, problem: null });
    expect(result?.output?.toString()).toBe('{}');
    expect({ artifacts, logs }).toEqual({ artifacts: { a: 'abc' }, logs: 'hi' });
  });
});

describe('a guest that breaks the protocol', () => {
  it.each<[string, Buffer[]]>([
    ['a frame of four gigabytes', [ready, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x4f, 0, 0, 0, 0])]],
    ['a frame above the limit', [ready, encodeFrame('O', Buffer.alloc(129 * 1024))]],
    ['an unknown frame', [ready, encodeFrame('?', Buffer.alloc(4))]],
    ['output before it is ready', [encodeFrame('O', Buffer.from('x'))]],
    ['ready twice', [ready, ready]],
    ['more output than the cap', [ready, encodeFrame('O', Buffer.alloc(600)), encodeFrame('E', Buffer.alloc(600))]],
    ['empty output', [ready, encodeFrame('O', Buffer.alloc(0))]],
    ['output after the end', [ready, exited(), encodeFrame('O', Buffer.from('x'))]],
    ['files before the end', [ready, file('files/a', 'x')]],
    ['completion before the end', [ready, complete()]],
    ['two ends', [ready, exited(), exited()]],
    ['a short exit report', [ready, encodeFrame('Q', Buffer.alloc(31))]],
    ['a short count of dropped bytes', [ready, encodeFrame('T', Buffer.alloc(3))]],
    ['data without a file', [ready, exited(), data('x')]],
    ['more data than announced', [ready, exited(), entry('f', 2, 'files/a'), data('xxx')]],
    ['less data than announced', [ready, exited(), entry('f', 2, 'files/a'), data('x'), complete()]],
    ['the next file before the last is whole', [ready, exited(), entry('f', 2, 'files/a'), entry('f', 2, 'files/b')]],
    ['empty data', [ready, exited(), entry('f', 2, 'files/a'), data('')]],
    ['an entry without a name', [ready, exited(), encodeFrame('N', Buffer.alloc(9))]],
    ['a name without its end', [ready, exited(), encodeFrame('N', Buffer.from('f00000000files/a'))]],
    ['more entries than asked for', [ready, exited(), ...Array.from({ length: 10 }, (_, index) => entry('l', 0, `files/${index}`))]],
    ['a complaint', [ready, encodeFrame('!', Buffer.from('no'))]],
  ])('is ended for %s', async (_, frames) => {
    const { error, killed } = await speak(frames);
    expect(error).toMatchObject({ code: 'sandbox_failed' });
    expect(killed).toBe(true);
  });

  it.each([
    '../escape',
    'files/../../escape',
    '/etc/passwd',
    'files//x',
    'files/./x',
    'files/',
    '.',
    '..',
    '',
    `files/${'x'.repeat(5000)}`,
  ])('is ended for the path %j', async (path) => {
    const { error, artifacts, killed } = await speak([ready, exited(), file(path, 'x'), complete()]);
    expect({ code: (error as { code?: string })?.code, artifacts, killed }).toEqual({
      code: 'sandbox_failed',
      artifacts: {},
      killed: true,
    });
  });

  it('is ended when it closes the channel and lives on', async () => {
    const { error, killed } = await speak([ready], { close: true });
    expect(error).toMatchObject({ code: 'sandbox_failed' });
    expect(killed).toBe(true);
  });

  it('is ended when it never says that it has ended', async () => {
    const { result, killed } = await speak([ready]);
    expect(result).toMatchObject({ end: 'timeout' });
    expect(killed).toBe(true);
  });
});

describe('a guest that lies', () => {
  it('gets no file beyond the limits, whatever size it names', async () => {
    for (const size of [600_001, 2 ** 40, 2n ** 64n - 1n]) {
      const { result, artifacts } = await speak([ready, exited(), entry('x', size, 'files/a'), complete(2)]);
      expect(result?.problem).toBe('artifact_too_large');
      const lied = await speak([ready, exited(), entry('f', size, 'files/a'), data('x')], { close: true });
      expect(lied.error).toMatchObject({ code: 'sandbox_failed' });
      expect([artifacts, lied.artifacts]).toEqual([{}, {}]);
    }
    const { result } = await speak([
      ready,
      exited(),
      file('files/a', 'x'),
      file('files/b', 'x'),
      file('files/c', 'x'),
      file('files/d', 'x'),
      complete(),
    ]);
    expect(result?.problem).toBe('too_many_artifacts');
  });

  it('gets no output beyond the limit', async () => {
    const { result } = await speak([ready, exited(), file('output.json', `"${'x'.repeat(2000)}"`), complete()]);
    expect(result).toMatchObject({ problem: 'output_too_large', output: null });
  });

  it('gets one file for one name', async () => {
    const twice = Buffer.from('files/\xff\xfe', 'latin1');
    const { result, artifacts } = await speak([
      ready,
      exited(),
      file('files/a', 'one'),
      file('files/a', 'two'),
      entry('f', 0, twice),
      complete(),
    ]);
    expect(artifacts).toEqual({ a: 'one' });
    expect(result?.skipped).toHaveLength(2);
  });

  it('gets only numbers that a record can hold', async () => {
    const { result } = await speak([ready, encodeFrame('Q', Buffer.alloc(32, 0xff)), complete()]);
    expect(Number.isSafeInteger(result?.cpuMs)).toBe(true);
    expect(Number.isSafeInteger(result?.peakMemoryBytes)).toBe(true);
  });

  it('leaves no consumer of a large file waiting', async () => {
    const { error, artifacts } = await speak([ready, exited(), entry('f', 500_000, 'files/big'), data('x'.repeat(60_000))], {
      close: true,
    });
    expect(error).toMatchObject({ code: 'sandbox_failed' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(artifacts).toEqual({ big: 'breaks off' });
  });
});

it('ends in a result or an error for any sequence of frames, and for any bytes', async () => {
  const anyFrame = fc
    .tuple(fc.constantFrom('R', 'O', 'E', 'T', 'Q', 'N', 'D', 'Z', '!', 'x'), fc.uint8Array({ maxLength: 40 }))
    .map(([type, bytes]) => encodeFrame(type, Buffer.from(bytes)));
  const likely = fc.constantFrom(
    ready,
    exited(),
    complete(),
    file('files/a', 'x'),
    entry('f', 3, 'files/b'),
    data('abc'),
    entry('l', 0, 'output.json'),
  );
  const bytes = fc.uint8Array({ maxLength: 200 }).map((list) => Buffer.from(list));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(likely, likely, anyFrame, bytes), { maxLength: 12 }), async (frames) => {
      const { result, error, artifacts } = await speak(frames, { close: true });
      expect(result === undefined).toBe(error !== undefined);
      if (error) expect(error).toMatchObject({ code: 'sandbox_failed' });
      for (const name of Object.keys(artifacts)) expect(name).not.toMatch(/^\/|\.\./);
    }),
    { numRuns: 400 },
  );
});

interface Outcome {
  readonly result?: RunResult;
  readonly error?: unknown;
  readonly artifacts: Record<string, string>;
  readonly logs: string;
  readonly killed: boolean;
}

/** Runs against a guest that says these frames, in pieces, whatever it is told. */
describe('a first process that fell to its program, in a nest', () => {
  const turns = ['1111111111111111', '2222222222222222'];
  /** What comes over the channel after the first run is its doing; what its parent announces is not. */
  const next = async (said: string) => {
    let killed = false;
    const channel = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    const announced = [...turns];
    const sandbox: OneShot = {
      channel,
      kill: () => {
        killed = true;
      },
      ...{ ranOutOfMemory: () => false, peakMemory: () => 0, gone: async () => ({ said: '', killed: true }) },
    };
    const nextTurn = async () => announced.shift();
    channel.push(encodeFrame('R', Buffer.from(turns[0] as string)));
    const first = await prepare(sandbox, undefined, nextTurn);
    channel.push(encodeFrame('R', Buffer.from(said)));
    const stands = await prepareNext(first, undefined, nextTurn).then(
      () => true,
      () => false,
    );
    return { stands, killed };
  };

  it('is not taken for the next run, whatever it says', async () => {
    expect(await next(turns[1] as string)).toEqual({ stands: true, killed: false });
    for (const said of ['', turns[0] as string, '2222222222222223', `${turns[1]}\0`, 'W'])
      expect(await next(said), said).toEqual({ stands: false, killed: true });
  });
});

async function speak(frames: readonly Buffer[], { close = false } = {}): Promise<Outcome> {
  const artifacts: Record<string, string> = {};
  let logs = '';
  let killed = false;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const channel = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const all = Buffer.concat(frames);
  for (let at = 0; at < all.length; at += 1000) channel.push(all.subarray(at, at + 1000));
  if (close) channel.push(null);
  const kill = (): boolean => {
    killed = true;
    if (!channel.readableEnded && !channel.destroyed) channel.push(null);
    end();
    return true;
  };
  const sandbox: OneShot = {
    channel,
    kill: () => void kill(),
    ranOutOfMemory: () => false,
    peakMemory: () => 0,
    async gone() {
      await ended;
      return { said: '', killed: false };
    },
  };
  const request = {
    id: 'hostile',
    skillFolder: '/',
    argv: ['x'],
    env: {},
    inputs: [],
    limits,
    signal: new AbortController().signal,
    onOutput: (_: string, bytes: Buffer) => {
      logs += bytes;
    },
    async onArtifact(path: string, size: number, content: Buffer | Readable) {
      artifacts[path] = 'waits';
      const whole = Buffer.isBuffer(content) ? content.toString() : await text(content).catch(() => 'breaks off');
      artifacts[path] = whole;
      if (whole.length !== size) throw new Error('the size is not what was said');
    },
  };
  try {
    return { result: await runOnce(sandbox, request), artifacts, logs, killed };
  } catch (error) {
    return { error, artifacts, logs, killed };
  }
}
