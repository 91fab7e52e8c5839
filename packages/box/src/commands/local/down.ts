/** skillbox down: stops what `up` started. */

import type { CliContext, Outcome } from '../../cli/leaf.ts';
import { readServerRecord } from '../../state.ts';
import { formatDuration } from '../../units.ts';
import { stopServerProcess } from './server-process.ts';

/** Beyond the drain time: closing the database, ending sandboxes. */
const marginMs = 10_000;

export async function down({ config: load, io }: CliContext): Promise<Outcome> {
  const config = load();
  const record = readServerRecord(config.stateRoot);
  if (!record) {
    const text = `No box runs in ${config.stateRoot}.`;
    return { value: { state_root: config.stateRoot, services: [] }, text };
  }
  const killed = await stopServerProcess(record, config.drainTimeout + marginMs, (ms) =>
    io.progress.show(`Stopping the server, ${formatDuration(ms)} (executions may take ${formatDuration(config.drainTimeout)} to finish)`),
  );
  io.progress.clear();
  const text = killed ? 'The server did not stop in time and was killed. The next start closes what it left open.' : 'The box is down.';
  return {
    value: { state_root: config.stateRoot, services: [{ name: 'server', state: killed ? 'killed' : 'stopped', pid: record.pid }] },
    text: `${io.paint(killed ? 'yellow' : 'green', killed ? '!' : '✓')} ${text}`,
  };
}
