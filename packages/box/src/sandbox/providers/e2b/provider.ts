/** Sandboxes at anything that speaks the E2B protocol: E2B itself, or another box. */

import { BoxError } from '@skillbox/protocol';
import type { Capability, LivingProvider, NetworkMode, ProgramSpec, ProviderRef, SandboxHandle, SandboxSpec } from '../../living.ts';
import { control, type E2bAddress, type Json, type Session, sessionOf } from './client.ts';
import { createFiles } from './files.ts';
import { createPrograms } from './programs.ts';

export type E2bOptions = E2bAddress & {
  /** Keeps apart what several boxes have with one key. */
  readonly owner: string;
};

/** How long it runs there without a use from here; then it pauses by itself, so that nothing is lost or paid for long. */
const timeoutS = 3600;
const renewMs = 5 * 60_000;
const ownerKey = 'skillbox-owner';
const sandboxKey = 'skillbox-sandbox';
/** Above what callers choose, for our own short programs inside. */
const firstOwnId = 2 ** 31;

export function createE2b(options: E2bOptions): LivingProvider {
  const { owner } = options;
  const handles = new Map<string, SandboxHandle>();
  return {
    name: 'e2b',
    tier: 'remote',
    location: 'metered',
    capabilities: new Set<Capability>(['exec', 'pty', 'files', 'watch', 'pause']),
    networks: new Set<NetworkMode>(['none', 'full']),
    async health() {
      try {
        await control(options, 'GET', '/v2/sandboxes?limit=1');
        return { healthy: true, detail: `E2B protocol at ${options.apiUrl}` };
      } catch (error) {
        return { healthy: false, detail: (error as Error).message };
      }
    },
    async provision(spec) {
      if (spec.snapshot) throw absent('snapshots');
      const { body } = await control(options, 'POST', '/v2/sandboxes', {
        templateID: templateOf(spec),
        timeout: timeoutS,
        autoPause: true,
        metadata: { [ownerKey]: owner, [sandboxKey]: spec.id },
        envVars: spec.env,
        allow_internet_access: spec.network === 'full',
      });
      return { sandbox: String((body as Json).sandboxID) };
    },
    open({ sandbox }: ProviderRef, spec) {
      const handle = handles.get(spec.id) ?? openSandbox(options, String(sandbox), spec, () => handles.delete(spec.id));
      handles.set(spec.id, handle);
      return handle;
    },
    async list() {
      const found: { sandbox: string; ref: ProviderRef }[] = [];
      let token: string | null = null;
      do {
        const query = `state=running,paused&limit=100${token ? `&nextToken=${encodeURIComponent(token)}` : ''}`;
        const page = await control(options, 'GET', `/v2/sandboxes?${query}`);
        for (const { metadata, sandboxID } of (page.body ?? []) as { metadata?: Record<string, string>; sandboxID: string }[]) {
          const sandbox = metadata?.[sandboxKey];
          if (metadata?.[ownerKey] === owner && sandbox) found.push({ sandbox, ref: { sandbox: sandboxID } });
        }
        token = page.next;
      } while (token);
      return found;
    },
    async removeSnapshot() {
      throw absent('snapshots');
    },
    async close() {
      handles.clear();
    },
  };
}

function openSandbox(options: E2bOptions, id: string, spec: SandboxSpec, forget: () => void): SandboxHandle {
  const path = `/sandboxes/${encodeURIComponent(id)}`;
  let current: { readonly session: Promise<Session>; readonly until: number } | undefined;
  let ownId = firstOwnId;

  /** Connecting wakes it and gives it a new period. */
  const session = (): Promise<Session> => {
    if (current && Date.now() < current.until) return current.session;
    const made = control(options, 'POST', `/v2${path}/connect`, { timeout: timeoutS }).then(({ body }) =>
      sessionOf(options, id, body as Json),
    );
    current = { session: made, until: Date.now() + renewMs };
    made.catch(() => {
      current = undefined;
    });
    return made;
  };

  const isRunning = async (): Promise<boolean> => {
    const { body } = await control(options, 'GET', path, undefined, [404]);
    const running = (body as Json | null)?.state === 'running';
    // It may have paused by itself: the next use must wake it.
    if (!running) rest();
    return running;
  };

  const programs = createPrograms(session);
  const rest = (): void => {
    current = undefined;
    programs.reset();
  };

  const start = (program: ProgramSpec) => programs.start({ ...program, env: { ...spec.env, ...program.env } });
  const shell = async (script: string, args: readonly string[]): Promise<number> => {
    ownId += 1;
    const argv = ['/bin/sh', '-c', script, 'sh', ...args];
    const program = await start({ id: ownId, argv, env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdin: false });
    for await (const event of program.events) if (event.type === 'end') return event.exitCode ?? -1;
    return -1;
  };

  return {
    async waitReady(signal) {
      signal.throwIfAborted();
      await programs.list();
    },
    start,
    join: programs.join,
    programs: async () => ((await isRunning()) ? (await programs.list()).filter((program) => program.id < firstOwnId) : []),
    signal: programs.signal,
    async endAll() {
      if (!(await isRunning())) return;
      for (const program of await programs.list()) if (!program.ended) await programs.signal(program.id, 9).catch(unless('not_found'));
    },
    files: createFiles(session, shell),
    async connect() {
      throw absent('ports: a server inside is reached at its own address, which the E2B server gives');
    },
    async metrics() {
      throw absent('metrics');
    },
    async snapshot() {
      throw absent('snapshots');
    },
    async pause() {
      await control(options, 'POST', `${path}/pause`, {}, [409]);
      rest();
    },
    async isActive() {
      return (await isRunning()) && (await programs.list()).some((program) => !program.ended);
    },
    async teardown() {
      await control(options, 'DELETE', path, undefined, [404]);
      rest();
      forget();
    },
  };
}

/** A template of the other side, not of this box. */
function templateOf({ options }: SandboxSpec): string {
  const named = options.template ?? options.image ?? 'base';
  if (typeof named === 'string') return named;
  throw new BoxError('bad_request', 'The option template of a template for e2b is the name of a template there.');
}

const absent = (what: string): BoxError => new BoxError('capability_missing', `The e2b provider has no ${what}.`);

const unless =
  (code: BoxError['code']) =>
  (error: unknown): void => {
    if (!(error instanceof BoxError) || error.code !== code) throw error;
  };
