/** What a service writes, as it writes it: the last lines first, and on where a connection broke. */

import { useEffect, useState } from 'react';
import { type Failure, failureOf, useBox } from '../../box/box.ts';
import { noteFailure, useReturns } from '../../box/reachable.ts';
import { LogLines } from '../../parts/log-lines.ts';
import type { Selection } from './selection.tsx';

export interface FollowedLog {
  readonly log: LogLines;
  readonly version: number;
  /** Whether the box answered. */
  readonly heard: boolean;
  readonly failure: Failure | undefined;
}

const firstLines = 2000;
/** A page that is open for days does not grow for days. */
const mostLines = 20_000;

export function useServiceLog(id: string, selection: Selection): FollowedLog {
  const { client } = useBox();
  const returns = useReturns();
  const [state, setState] = useState<FollowedLog>(nothing);
  const key = JSON.stringify(selection);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the selection; once more when the box is back.
  useEffect(() => {
    const end = new AbortController();
    let log = new LogLines();
    let version = 0;
    let frame = 0;
    // Once for each picture, however much came.
    const show = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setState({ log, version, heard: true, failure: undefined });
      });
    };
    const follow = async (): Promise<void> => {
      // It tells at once whether there is such a log, and whether anything is in it.
      const [now] = await client.runtime.logs({ ...selection, service: id, lines: 1 }, { signal: end.signal });
      if (now?.lines.length === 0) show();
      for await (const { data } of client.runtime.followLogs({ ...selection, service: id, lines: firstLines }, { signal: end.signal })) {
        if (log.count >= mostLines) log = newestOf(log);
        log.append(`${data.line}\n`, 'stdout');
        version += 1;
        show();
      }
    };
    follow().catch((error: unknown) => {
      if (end.signal.aborted) return;
      noteFailure(error);
      setState((before) => ({ ...before, failure: failureOf(error) }));
    });
    return () => {
      end.abort();
      cancelAnimationFrame(frame);
      setState(nothing);
    };
  }, [client, id, key, returns]);
  return state;
}

const nothing = (): FollowedLog => ({ log: new LogLines(), version: 0, heard: false, failure: undefined });

function newestOf(log: LogLines): LogLines {
  const kept = new LogLines();
  for (let at = log.count - mostLines / 2; at < log.count; at += 1) kept.append(`${log.line(at)}\n`, log.source(at));
  return kept;
}
