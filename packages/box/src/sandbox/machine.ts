import { statfs } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import type { HostReport } from '@skillbox/protocol';
import { createCpuMeter } from './cpu-meter.ts';

/** One for the process: the machine is the same, whoever asks. */
const meter = createCpuMeter();

/** The machine, and the disk that `folder` is on. */
export async function machineReport(folder: string): Promise<Pick<HostReport, 'cpus' | 'cpu_used' | 'load' | 'memory' | 'disk'>> {
  const [{ bsize, blocks, bavail }, used] = await Promise.all([statfs(folder), meter.used()]);
  return {
    cpus: availableParallelism(),
    cpu_used: used,
    load: loadavg().map((value) => Math.round(value * 100) / 100),
    memory: { total_bytes: totalmem(), free_bytes: freemem() },
    disk: { total_bytes: blocks * bsize, free_bytes: bavail * bsize },
  };
}
