import type { ExecutionFigures } from '@skillbox/sdk';
import { Legend, StackedBars, Waterfall } from '../../parts/charts.tsx';
import { everyStep } from '../../parts/figures.ts';
import { formatAgo, formatCount, formatMs } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Empty } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';

interface Props {
  readonly figures: ExecutionFigures;
}

const series = [
  { name: 'Succeeded', colour: 'fill-2' },
  { name: 'Failed', colour: 'fill-bad' },
  { name: 'Other', colour: 'fill-6' },
];

export function ThroughputCard({ figures, window }: Props & { readonly window: string }) {
  const per =
    figures.step_seconds === 60 ? 'minute' : figures.step_seconds > 60 ? `${figures.step_seconds / 60} min` : `${figures.step_seconds} s`;
  return (
    <Card title={`Executions for each ${per}, last ${window}`}>
      <div className="inside fill">
        <StackedBars series={series} points={everyStep(figures)} title="Executions over time" format={formatCount} />
      </div>
    </Card>
  );
}

const colours: Readonly<Record<string, string>> = {
  queue: 'fill-6',
  claim: 'fill-4',
  sandbox: 'fill-3',
  run: 'fill-1',
  collect: 'fill-2',
  record: 'fill-5',
};

export const phaseColour = (phase: string): string => colours[phase] ?? 'fill-6';

export function LatencyCard({ figures }: Props) {
  const { phases, total, sampled } = figures;
  if (!total) {
    return (
      <Card title="Where the time goes">
        <Empty small title="None has ended yet" />
      </Card>
    );
  }
  const rows = (which: 'p50' | 'p95') => {
    let from = 0;
    return phases.map((phase) => {
      const to = from + phase[which];
      const row = { name: phase.phase, from, to, colour: phaseColour(phase.phase), text: formatMs(phase[which]) };
      from = to;
      return row;
    });
  };
  return (
    <Card title="Where the time goes" actions={<span className="faint">of the newest {formatCount(sampled)}</span>}>
      <div className="inside latency">
        {(['p50', 'p95'] as const).map((which) => (
          <section key={which}>
            <h3>
              {which} <span className="faint">{formatMs(total[which])} in all</span>
            </h3>
            <Waterfall title={`Phases, ${which}`} rows={rows(which)} />
          </section>
        ))}
        <Legend items={phases.map(({ phase }) => ({ name: phase, colour: phaseColour(phase) }))} />
      </div>
    </Card>
  );
}

export function SkillsCard({ figures }: Props) {
  return (
    <Card title="Skills by use">
      <div className="scroll-x">
        <table className="table">
          <thead>
            <tr>
              <th>Skill</th>
              <th className="right">Runs</th>
              <th className="right">Failed</th>
              <th className="right">p50</th>
              <th className="right">p95</th>
              <th className="right">Last</th>
            </tr>
          </thead>
          <tbody>
            {figures.skills.slice(0, 10).map(({ skill, runs, failed, total, last_at }) => (
              <tr key={skill}>
                <td>
                  <Link to={`/executions?skill=${encodeURIComponent(skill)}`}>{skill}</Link>
                </td>
                <td className="right">{formatCount(runs)}</td>
                <td className={failed > 0 ? 'right bad' : 'right'}>{formatCount(failed)}</td>
                <td className="right">{formatMs(total?.p50)}</td>
                <td className="right">{formatMs(total?.p95)}</td>
                <td className="right">{formatAgo(last_at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
