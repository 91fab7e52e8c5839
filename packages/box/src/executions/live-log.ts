/**
 * What an execution says while it runs: output and states, numbered from 1, so that a stream can be resumed from
 * memory while it runs and from the stored log afterwards, with the same numbers.
 */

import { appendFileSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

export interface LogEntry {
  readonly seq: number;
  readonly type: 'stdout' | 'stderr' | 'status';
  readonly time: string;
  readonly text: string;
}

export interface LiveLog {
  readonly entries: readonly LogEntry[];
  write(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  status(text: string): void;
  /** The last entry; nothing comes after it. */
  close(status: string): void;
  /** Everything after `after`, then what comes, until the log is closed. */
  follow(after: number, signal: AbortSignal): AsyncGenerator<LogEntry>;
}

/** How long output may sit in memory only. */
const spoolAfterMs = 500;

/** `spool`: a file that keeps what was said if the server is killed; it is written only by runs that last. */
export function createLiveLog(
  spool: string,
  onSpoolError: (error: Error) => void = () => undefined,
): LiveLog & { readonly spooled: boolean } {
  const entries: LogEntry[] = [];
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  const waiting = new Set<() => void>();
  let closed = false;
  let unspooled = 0;
  let spooled = false;
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    timer = undefined;
    const lines = entries.slice(unspooled).map((entry) => `${JSON.stringify(entry)}\n`);
    unspooled = entries.length;
    if (lines.length === 0) return;
    spooled = true;
    try {
      appendFileSync(spool, lines.join(''), { mode: 0o600 });
    } catch (error) {
      // A full disk costs the log of a run that is killed with its server; it must not cost the server.
      onSpoolError(error as Error);
    }
  };

  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  const add = (type: LogEntry['type'], text: string): void => {
    if (closed || text === '') return;
    entries.push({ seq: entries.length + 1, type, time: new Date().toISOString(), text });
    timer ??= setTimeout(flush, spoolAfterMs);
    wake();
  };

  return {
    entries,
    get spooled() {
      return spooled;
    },
    write(stream, bytes) {
      add(stream, printable(decoders[stream].write(bytes)));
    },
    status(text) {
      add('status', text);
    },
    close(status) {
      for (const stream of ['stdout', 'stderr'] as const) add(stream, printable(decoders[stream].end()));
      add('status', status);
      if (timer) clearTimeout(timer);
      closed = true;
      wake();
    },
    async *follow(after, signal) {
      let next = after;
      let resume = (): void => undefined;
      // Only this one: of thousands of followers each may leave at any time.
      const leave = (): void => {
        waiting.delete(resume);
        resume();
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        for (;;) {
          for (; next < entries.length; next += 1) yield entries[next] as LogEntry;
          if (closed || signal.aborted) return;
          await new Promise<void>((resolve) => {
            resume = resolve;
            waiting.add(resume);
          });
        }
      } finally {
        waiting.delete(resume);
        signal.removeEventListener('abort', leave);
      }
    },
  };
}

/** The text a person reads: output in the order it came. */
export function logText(entries: readonly LogEntry[]): string {
  return entries
    .filter((entry) => entry.type !== 'status')
    .map((entry) => entry.text)
    .join('');
}

export function parseSpool(text: string): LogEntry[] {
  const entries: LogEntry[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    try {
      entries.push(JSON.parse(line) as LogEntry);
    } catch {
      // Half-written: the server was killed there, or the disk was full. What comes after it could not be in order.
      break;
    }
  }
  return entries;
}

/** PostgreSQL cannot store NUL, and a terminal should not see it. */
const printable = (text: string): string => text.replaceAll('\0', '\ufffd');
