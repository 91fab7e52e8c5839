/** The log of an execution, from its beginning, as it comes. */

import { useEffect, useRef, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { noteFailure, useReturns } from '../../box/reachable.ts';
import { LogLines } from '../../parts/log-lines.ts';

export interface FollowedLog {
  readonly log: LogLines;
  readonly version: number;
  readonly live: boolean;
}

/** `onEnd`: nothing comes any more. */
export function useLog(id: string, onEnd: () => void): FollowedLog {
  const { client } = useBox();
  const returns = useReturns();
  const [state, setState] = useState<FollowedLog>(() => ({ log: new LogLines(), version: 0, live: true }));
  const ended = useRef(onEnd);
  ended.current = onEnd;

  // biome-ignore lint/correctness/useExhaustiveDependencies: once more when the box is back.
  useEffect(() => {
    const end = new AbortController();
    const log = new LogLines();
    let frame = 0;
    // Once for each picture, however much came.
    const show = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setState({ log, version: log.version, live: true });
      });
    };
    const follow = async (): Promise<void> => {
      for await (const { event, data } of client.executions.stream(id, { signal: end.signal })) {
        log.append(event === 'status' ? `${data.text}\n` : data.text, event);
        show();
      }
      cancelAnimationFrame(frame);
      setState({ log, version: log.version, live: false });
      ended.current();
    };
    follow().catch((error: unknown) => {
      if (end.signal.aborted) return;
      noteFailure(error);
      setState({ log, version: log.version, live: false });
    });
    return () => {
      end.abort();
      cancelAnimationFrame(frame);
    };
  }, [client, id, returns]);
  return state;
}
