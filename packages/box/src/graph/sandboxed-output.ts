/**
 * The output of programs of the graph in sandboxes, written to their logs on the host. The server does it, whoever started them: what to
 * write where stands in a file for each, so that the next server goes on where this one ended. The guest keeps a megabyte meanwhile.
 */

import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Logger } from '../observe/log.ts';
import { readJsonFile } from '../private-file.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import { workspaceTenant } from '../sandbox/workspace/template.ts';
import { isWithin, realPath } from './paths.ts';
import { graphFolder } from './runtime.ts';

export interface OutputRecord {
  readonly sandbox: string;
  /** As the guest numbers it; the tag says whether it still is the one. */
  readonly program: number;
  readonly tag: string;
  /** On the host's own ground. */
  readonly log: string;
  /** Number of the last output that stands in it. */
  readonly after: number;
}

export interface OutputWriter {
  stop(): Promise<void>;
}

export interface OutputParts {
  readonly stateRoot: string;
  readonly sandboxes: Pick<Sandboxes, 'get' | 'use'>;
  readonly log: Logger;
  /** Folders of the host that the workspace can write: what lies there may lead elsewhere, and is not written. */
  readonly inside: readonly string[];
}

/** Output is written in pieces of this time; who kills the server in between finds them twice. */
const gatherMs = 50;
const lookMs = 2000;

const folderOf = (stateRoot: string): string => join(graphFolder(stateRoot), 'output');
export const outputFile = (stateRoot: string, run: number): string => join(folderOf(stateRoot), `${run}.json`);

export function writeOutputRecord(stateRoot: string, run: number, record: OutputRecord): void {
  mkdirSync(folderOf(stateRoot), { recursive: true, mode: 0o700 });
  mkdirSync(dirname(record.log), { recursive: true, mode: 0o700 });
  putRecord(outputFile(stateRoot, run), record);
}

export function followOutput({ stateRoot, sandboxes, log, inside }: OutputParts): OutputWriter {
  const folder = folderOf(stateRoot);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const abort = new AbortController();
  const writing = new Map<string, Promise<void>>();

  const look = (): void => {
    if (abort.signal.aborted) return;
    for (const name of readdirSync(folder)) {
      if (!/^\d+\.json$/.test(name) || writing.has(name)) continue;
      const work = writeOut({ sandboxes, inside, file: join(folder, name), signal: abort.signal })
        .catch((error: Error) => log.warn({ err: error, program: name }, 'the output of a program could not be written; tried again'))
        .finally(() => writing.delete(name));
      writing.set(name, work);
    }
  };

  let soon: NodeJS.Timeout | undefined;
  const lookSoon = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      look();
    }, gatherMs);
  };
  const watcher = watch(folder, lookSoon);
  watcher.on('error', (error) =>
    log.warn({ err: error }, 'the folder of programs in sandboxes cannot be watched; it is looked at instead'),
  );
  // Where the kernel tells nothing, and for what could not be done at once.
  const timer = setInterval(look, lookMs);
  timer.unref();
  watcher.unref();
  look();
  return {
    async stop() {
      abort.abort();
      watcher.close();
      clearInterval(timer);
      clearTimeout(soon);
      await Promise.all(writing.values());
    },
  };
}

async function writeOut({
  sandboxes,
  inside,
  file,
  signal,
}: Pick<OutputParts, 'inside' | 'sandboxes'> & { file: string; signal: AbortSignal }): Promise<void> {
  const record = readJsonFile<OutputRecord>(file);
  if (record && leadsInside(record.log, inside)) {
    rmSync(file, { force: true });
    throw new BoxError('forbidden', `${record.log} lies where the workspace can write, and no log of the box does.`);
  }
  if (!record || !(await isReady(sandboxes, record.sandbox))) return rmSync(file, { force: true });
  const { handle, done } = await sandboxes.use(workspaceTenant, record.sandbox);
  try {
    // A sandbox that was started anew may have another under this number.
    const known = (await handle.programs()).some(({ id, tag }) => id === record.program && tag === record.tag);
    if (!known) return rmSync(file, { force: true });
    const program = await handle.join(record.program, record.after);
    const leave = (): void => program.detach();
    signal.addEventListener('abort', leave, { once: true });
    const gathered = gather(record, file);
    try {
      for await (const event of program.events) {
        if (event.type === 'end') {
          gathered.flush();
          return rmSync(file, { force: true });
        }
        if (event.type === 'lost') gathered.add(Buffer.from('[skillbox: some output was lost]\n'), event.before - 1);
        else gathered.add(event.bytes, event.number);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', leave);
      gathered.flush();
      program.detach();
    }
  } finally {
    done();
  }
}

/** At any step of its way: behind a link of the inside it would seem to lie elsewhere. */
function leadsInside(path: string, inside: readonly string[]): boolean {
  const folders = inside.map(realPath);
  for (let at = dirname(path); ; at = dirname(at)) {
    if (folders.some((folder) => isWithin(realPath(at), folder))) return true;
    if (dirname(at) === at) return false;
  }
}

/** Nothing that rests is woken for its output: what ran in it has ended. */
async function isReady(sandboxes: Pick<Sandboxes, 'get'>, id: string): Promise<boolean> {
  try {
    return (await sandboxes.get(workspaceTenant, id)).state === 'ready';
  } catch (error) {
    if (error instanceof BoxError && error.code === 'not_found') return false;
    throw error;
  }
}

function gather(record: OutputRecord, file: string) {
  let pieces: Buffer[] = [];
  let after = record.after;
  let timer: NodeJS.Timeout | undefined;
  let failure: unknown;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (pieces.length === 0) return;
    // By its name each time: the file may have been moved away to make room.
    appendFileSync(record.log, Buffer.concat(pieces), { mode: 0o600 });
    pieces = [];
    // Whoever takes it away has ended it.
    if (existsSync(file)) putRecord(file, { ...record, after });
  };
  return {
    flush,
    add(bytes: Buffer, number: number): void {
      if (failure !== undefined) throw failure;
      pieces.push(bytes);
      after = number;
      timer ??= setTimeout(() => {
        try {
          flush();
        } catch (error) {
          failure = error;
        }
      }, gatherMs);
    },
  };
}

/** Whole or not at all for who reads it; not worth the wait for the disk, ten times a second. */
function putRecord(file: string, record: OutputRecord): void {
  const draft = `${file}.${process.pid}.tmp`;
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  renameSync(draft, file);
}
