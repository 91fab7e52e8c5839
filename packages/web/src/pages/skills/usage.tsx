/** How the skill did of late: how often, how it ended, where its time went. */

import type { Skill } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { StackedBars, Waterfall } from '../../parts/charts.tsx';
import { everyStep } from '../../parts/figures.ts';
import { formatCount, formatMs, formatPercent } from '../../parts/format.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Link, useQuery } from '../../router.tsx';

const windows = ['15m', '1h', '6h', '24h'] as const;
const series = [
  { name: 'Succeeded', colour: 'fill-2' },
  { name: 'Failed', colour: 'fill-bad' },
  { name: 'Other', colour: 'fill-6' },
];

export function Usage({ skill }: { readonly skill: Skill }) {
  const { client, tenant } = useBox();
  const [query, change] = useQuery();
  const window = windows.find((each) => each === query.get('window')) ?? '24h';
  const figures = useLoad(
    `${tenant} ${skill.name} ${window}`,
    (signal) => client.executions.figures({ window, skill: skill.name }, { signal }),
    { every: 10_000 },
  );
  return (
    <div className="stack">
      <div className="filters">
        <select className="input" aria-label="Time" value={window} onChange={({ target }) => change({ window: target.value })}>
          {windows.map((each) => (
            <option key={each} value={each}>
              Last {each}
            </option>
          ))}
        </select>
        <Link to={`/executions?skill=${encodeURIComponent(skill.name)}`}>Its executions</Link>
      </div>
      <Show of={figures}>
        {(data) => {
          const runs = data.points.reduce((sum, { success, failed, other }) => sum + success + failed + other, 0);
          if (runs === 0)
            return <Empty title={`Not run in the last ${window}`} icon="play" command={`skillbox run ${skill.name} --input '{}'`} />;
          const failed = data.points.reduce((sum, point) => sum + point.failed, 0);
          let from = 0;
          const rows = data.phases.map(({ phase, p50 }) => {
            const row = { name: phase, from, to: from + p50, colour: phase === 'run' ? 'fill-1' : 'fill-4', text: formatMs(p50) };
            from += p50;
            return row;
          });
          return (
            <div className="grid-two">
              <Card title={`Runs, last ${window}`}>
                <div className="inside">
                  <StackedBars series={series} points={everyStep(data)} title={`Runs of ${skill.name}`} format={formatCount} />
                </div>
              </Card>
              <Card title="Latency" actions={<span className="faint">of the newest {formatCount(data.sampled)}</span>}>
                <div className="inside stack">
                  <Facts
                    of={[
                      ['Runs', formatCount(runs)],
                      ['Failed', `${formatCount(failed)} (${formatPercent(failed / runs)})`],
                      ['p50', formatMs(data.total?.p50)],
                      ['p95', formatMs(data.total?.p95)],
                      ['Served warm', data.warm === null ? null : formatPercent(data.warm)],
                      ['Most frequent fault', data.errors[0] && <code key="fault">{data.errors[0].code}</code>],
                    ]}
                  />
                  <Waterfall title="Phases, p50" rows={rows} />
                </div>
              </Card>
            </div>
          );
        }}
      </Show>
    </div>
  );
}
