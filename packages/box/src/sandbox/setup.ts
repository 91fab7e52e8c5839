/** The setup steps of a template: commands that must succeed before the sandbox is ready. */

import { BoxError } from '@skillbox/protocol';
import type { SandboxHandle } from './living.ts';

const limitMs = 10 * 60_000;
const keptOutput = 2000;

export async function runSetup(handle: SandboxHandle, steps: readonly string[], nextId: () => number): Promise<void> {
  const deadline = AbortSignal.timeout(limitMs);
  for (const step of steps) {
    const id = nextId();
    const program = await handle.start({
      id,
      argv: ['/bin/sh', '-c', step],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/home/user' },
      cwd: '/home/user',
      stdin: false,
      tag: 'setup',
    });
    const stop = (): void => void handle.signal(id, 9).catch(() => undefined);
    deadline.addEventListener('abort', stop, { once: true });
    let output = '';
    for await (const event of program.events) {
      if (event.type === 'stdout' || event.type === 'stderr') output = `${output}${event.bytes.toString('utf8')}`.slice(-keptOutput);
      if (event.type !== 'end' || event.exitCode === 0) continue;
      const how = deadline.aborted
        ? 'took too long'
        : event.exitCode === null
          ? `ended by ${event.signal}`
          : `ended with ${event.exitCode}`;
      throw new BoxError('sandbox_failed', `The setup step ${JSON.stringify(step)} ${how}. ${output.trim()}`.trim());
    }
    deadline.removeEventListener('abort', stop);
  }
}
