import { type HeldSandbox, IncompleteList } from '../../living.ts';

/** What all hosts hold. One that is away hides nothing of the others. */
export async function listAll<Host>(
  hosts: Iterable<Host>,
  listOne: (host: Host) => Promise<readonly HeldSandbox[]>,
): Promise<readonly HeldSandbox[]> {
  const results = await Promise.allSettled([...hosts].map(listOne));
  const held = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw new IncompleteList(held, failed.reason as Error);
  return held;
}
