/** The machine that answers: how full it is, what stands ready on it, and its sandboxes. */

import type { HostReport } from '@skillbox/sdk';
import { useRef } from 'react';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Meter, Sparkline } from '../../parts/charts.tsx';
import { formatBytes, formatCount, formatMs, formatPercent } from '../../parts/format.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link } from '../../router.tsx';

const refreshMs = 5000;
const kept = 60;

interface Sample {
  readonly cpu: number;
  readonly memory: number;
}

export function HostCards() {
  const { client } = useBox();
  const past = useRef<Sample[]>([]);
  const host = useLoad(
    'host',
    async (signal) => {
      const report = await client.host.inspect({ signal });
      past.current = [...past.current, sampleOf(report)].slice(-kept);
      return report;
    },
    { every: refreshMs },
  );
  return (
    <Show of={host} rows={3}>
      {(report) => (
        <div className="grid-three">
          <MachineCard report={report} past={past.current} />
          <PoolsCard report={report} />
          <SandboxesCard report={report} />
        </div>
      )}
    </Show>
  );
}

const used = ({ total_bytes, free_bytes }: { total_bytes: number; free_bytes: number }): number =>
  (total_bytes - free_bytes) / Math.max(1, total_bytes);

const sampleOf = ({ cpu_used, memory }: HostReport): Sample => ({ cpu: cpu_used, memory: used(memory) });

function MachineCard({ report, past }: { readonly report: HostReport; readonly past: readonly Sample[] }) {
  const { cpus, cpu_used, load, memory, disk, host } = report;
  const loads = load.map((value) => value.toFixed(2)).join(' ');
  return (
    <Card title="Machine" actions={<span className="faint mono">{host}</span>}>
      <div className="inside gauges">
        <Gauge name="CPU" text={`${cpus} ${cpus === 1 ? 'processor' : 'processors'} · load ${loads}`} share={cpu_used}>
          <Sparkline title="CPU used since this page is open" values={past.map((sample) => sample.cpu)} top={1} colour="fill-1" />
        </Gauge>
        <Gauge name="Memory" text={`${formatBytes(memory.free_bytes)} of ${formatBytes(memory.total_bytes)} free`} share={used(memory)}>
          <Sparkline title="Memory used since this page is open" values={past.map((sample) => sample.memory)} top={1} colour="fill-4" />
        </Gauge>
        <Gauge name="Disk" text={`${formatBytes(disk.free_bytes)} of ${formatBytes(disk.total_bytes)} free`} share={used(disk)} />
      </div>
    </Card>
  );
}

function Gauge({
  name,
  text,
  share,
  children,
}: {
  readonly name: string;
  readonly text: string;
  readonly share: number;
  readonly children?: React.ReactNode;
}) {
  return (
    <div className="gauge">
      <div className="line">
        <span>{name}</span>
        <span className="faint">{text}</span>
        <b>{formatPercent(share)}</b>
      </div>
      <Meter title={`${name} used`} share={share} />
      {children}
    </div>
  );
}

function PoolsCard({ report: { warm, canary, providers, webhooks } }: { readonly report: HostReport }) {
  const pool = ({ ready, wanted, served, missed, memory_bytes }: HostReport['warm']['executions']): string =>
    `${ready} of ${wanted} wanted · ${formatCount(served)} served, ${formatCount(missed)} missed · ${formatBytes(memory_bytes)}`;
  return (
    <Card title="Ready ahead, and health">
      <div className="inside">
        <Facts
          of={[
            ['For runs', pool(warm.executions)],
            ['For sandboxes', pool(warm.sandboxes)],
            [
              'Canary',
              canary ? (
                <span key="canary" className="cluster">
                  <Badge text={canary.ok ? 'ok' : 'failed'} />
                  {canary.ok ? formatMs(canary.steps.reduce((sum, { ms }) => sum + ms, 0)) : canary.error}
                  <span className="faint">
                    <Ago time={canary.time} />
                  </span>
                </span>
              ) : (
                'not yet'
              ),
            ],
            ...providers.map(
              ({ name, healthy, detail, tier }) =>
                [
                  name,
                  <span key={name} className="cluster">
                    <Badge text={healthy ? 'ok' : 'failed'} /> <span className="faint">{healthy ? tier : detail}</span>
                  </span>,
                ] as const,
            ),
            ...(webhooks.length > 0 ? [['Webhooks', <Badge key="w" tone="bad" text={`${webhooks.length} in trouble`} />] as const] : []),
          ]}
        />
      </div>
    </Card>
  );
}

function SandboxesCard({ report: { sandboxes } }: { readonly report: HostReport }) {
  const states = Object.entries(sandboxes).filter(([, count]) => (count ?? 0) > 0);
  return (
    <Card title="Sandboxes by state">
      {states.length === 0 ? (
        <Empty small title="None" command="skillbox sandbox create base" />
      ) : (
        <ul className="states">
          {states.map(([state, count]) => (
            <li key={state}>
              <Link to={`/sandboxes?state=${state}`}>
                <Badge text={state} />
                <b>{formatCount(count ?? 0)}</b>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
