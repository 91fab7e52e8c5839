import { useEffect, useState } from 'react';

/** Milliseconds since then, told anew each second while it goes on. */
export function useElapsed(since: number, until: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (until !== undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return Math.max(0, (until ?? Math.max(now, since)) - since);
}
