import type { ExecutionResult } from '@skillbox/sdk';
import { Waterfall } from '../../parts/charts.tsx';
import { formatMs } from '../../parts/format.ts';
import { Empty } from '../../parts/states.tsx';
import { phaseColour } from '../overview/work-cards.tsx';

const phases = [
  ['queue', 'waiting for a slot'],
  ['claim', 'finding the skill, checking the input'],
  ['sandbox', 'getting a sandbox'],
  ['run', 'the program itself'],
  ['collect', 'fetching output and files'],
  ['record', 'writing the end'],
] as const;

export function Timings({ record: { timings } }: { readonly record: ExecutionResult }) {
  if (!timings)
    return (
      <Empty title="No timings" icon="clock">
        <p>They are there when it has ended, unless the server that ran it is gone.</p>
      </Empty>
    );
  let from = 0;
  const rows = phases.flatMap(([name]) => {
    const ms = timings[name];
    if (ms === null) return [];
    const row = { name, from, to: from + ms, colour: phaseColour(name), text: formatMs(ms) };
    from += ms;
    return [row];
  });
  return (
    <div className="pad">
      <p className="hint">{formatMs(from)} in all, from the request to the record</p>
      <Waterfall title="Phases of the execution" rows={rows} />
      <dl className="facts legend-list">
        {phases.map(([name, what]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
