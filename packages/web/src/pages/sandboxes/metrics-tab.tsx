/** What it uses, now and of late. */

import type { Sandbox, SandboxUsage } from '@skillbox/sdk';
import { useRef } from 'react';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { formatBytes, formatCount } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { LineChart } from './line-chart.tsx';
import { type Reading, readingsOf } from './usage.ts';

const refreshMs = 3000;
const kept = 200;

export function MetricsTab({ sandbox }: { readonly sandbox: Sandbox }) {
  const { client, tenant } = useBox();
  /** The box remembers what was while something ran; what is seen here is added to it. */
  const seen = useRef<readonly SandboxUsage[]>([]);
  const metrics = useLoad(
    `${tenant} ${sandbox.id} metrics`,
    async (signal) => {
      const { now, history } = await client.sandbox(sandbox.id).metrics({ signal });
      const all = new Map([...history, ...seen.current, now].map((sample) => [sample.time, sample]));
      seen.current = [...all.values()].sort((one, other) => one.time.localeCompare(other.time)).slice(-kept);
      return { now, readings: readingsOf(seen.current) };
    },
    { every: refreshMs },
  );
  return (
    <Show of={metrics}>
      {({ now, readings }) => (
        <div className="sandbox-metrics">
          <Chart
            title="CPU"
            readings={readings}
            pick={(reading) => reading.cpu}
            top={sandbox.limits.cpu}
            colour="fill-1"
            format={formatCpu}
            note={`of ${sandbox.limits.cpu}`}
          />
          <Chart
            title="Memory"
            readings={readings}
            pick={(reading) => reading.memory}
            top={now.memory_limit_bytes}
            colour="fill-4"
            format={formatBytes}
            note={`of ${formatBytes(now.memory_limit_bytes)}`}
          />
          <Chart
            title="Disk"
            readings={readings}
            pick={(reading) => reading.disk}
            top={now.disk_limit_bytes}
            colour="fill-3"
            format={formatBytes}
            note={`of ${formatBytes(now.disk_limit_bytes)}`}
          />
          <Chart
            title="Processes"
            readings={readings}
            pick={(reading) => reading.processes}
            colour="fill-2"
            format={formatCount}
            note={`of ${sandbox.limits.processes}`}
          />
        </div>
      )}
    </Show>
  );
}

const formatCpu = (cpus: number): string => `${cpus.toFixed(2)} CPU`;

interface ChartProps {
  readonly title: string;
  readonly readings: readonly Reading[];
  readonly top?: number;
  readonly colour: string;
  readonly note: string;
  pick(reading: Reading): number;
  format(value: number): string;
}

function Chart({ title, readings, top, colour, note, pick, format }: ChartProps) {
  const points = readings.map((reading) => ({ time: reading.time, value: pick(reading) }));
  const last = points.at(-1)?.value ?? 0;
  return (
    <Card
      title={title}
      actions={
        <span className="now">
          <strong>{format(last)}</strong> <span className="faint">{note}</span>
        </span>
      }
    >
      <div className="inside">
        <LineChart title={title} points={points} colour={colour} format={format} {...(top !== undefined && { limit: top })} />
      </div>
    </Card>
  );
}
