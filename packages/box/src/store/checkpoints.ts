/**
 * Brings SQLite's write-ahead log into its file while nobody waits. SQLite does so by itself within one commit of many, which then
 * waits for the disk, and with it the request it belongs to. It still does when there is never a pause. What a commit survives is
 * the same as ever: the end of the process at once, a power cut from the next checkpoint on.
 */

import type { Database as Connection } from 'better-sqlite3';

export interface Checkpoints {
  /** After each commit. */
  committed(): void;
  close(): void;
}

/** SQLite's own measure for a log that is long enough; ours comes first when there are pauses. */
const longestLog = 4000;
const worthwhile = 80;
/** So long after the last commit the next is not expected at once. */
const pauseMs = 10;

export function createCheckpoints(connection: Connection): Checkpoints {
  let commits = 0;
  connection.pragma(`wal_autocheckpoint = ${longestLog}`);
  const timer = setTimeout(() => {
    if (commits < worthwhile || !connection.open || connection.inTransaction) return;
    commits = 0;
    try {
      connection.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // A full or broken disk, or another process at it: whoever writes next hears of it too, and says so. A later pause tries again.
    }
  }, pauseMs);
  timer.unref();
  return {
    committed() {
      commits += 1;
      if (commits >= worthwhile) timer.refresh();
    },
    close: () => clearTimeout(timer),
  };
}
