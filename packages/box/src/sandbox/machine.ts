import { statfs } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import type { HostReport } from '@skillbox/protocol';

/** The machine, and the disk that `folder` is on. */
export async function machineReport(folder: string): Promise<Pick<HostReport, 'cpus' | 'load' | 'memory' | 'disk'>> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return {
    cpus: availableParallelism(),
    load: loadavg().map((value) => Math.round(value * 100) / 100),
    memory: { total_bytes: totalmem(), free_bytes: freemem() },
    disk: { total_bytes: blocks * bsize, free_bytes: bavail * bsize },
  };
}
