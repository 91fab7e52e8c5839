/** What is happening: work, its times and faults, the machine, and the newest events. */

import type { ExecutionFigures } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { formatCount, formatMs, formatPercent } from '../../parts/format.ts';
import { Card, Page } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Link, useQuery } from '../../router.tsx';
import { EventsCard } from './events-card.tsx';
import { HostCards } from './host-cards.tsx';
import { LatencyCard, SkillsCard, ThroughputCard } from './work-cards.tsx';
import './overview.css';

const windows = ['15m', '1h', '6h', '24h'] as const;
const refreshMs = 10_000;

export default function Overview() {
  const { client, tenant, may } = useBox();
  const [query, change] = useQuery();
  const window = windows.find((each) => each === query.get('window')) ?? '1h';
  const figures = useLoad(
    `${tenant} ${window}`,
    async (signal) => (may('executions:read') ? client.executions.figures({ window }, { signal }) : null),
    {
      every: refreshMs,
    },
  );
  useOnEvents(({ type }) => type.startsWith('execution.'), figures.reload, 1500);

  const choice = (
    <div className="filters">
      <select className="input" aria-label="Time" value={window} onChange={(event) => change({ window: event.target.value })}>
        {windows.map((each) => (
          <option key={each} value={each}>
            Last {each}
          </option>
        ))}
      </select>
    </div>
  );
  return (
    <Page title="Overview" actions={may('executions:read') && choice}>
      <div className="overview">
        <Show of={figures}>
          {(data) =>
            data && (
              <>
                <Tiles figures={data} />
                {data.points.length === 0 && data.running + data.queued === 0 ? (
                  <Card title="Executions">
                    <Empty
                      title={`Nothing ran in the last ${window}`}
                      icon="play"
                      command={'skillbox run data-analysis --input \'{"data":[1,2,3]}\''}
                    />
                  </Card>
                ) : (
                  <div className="grid-two">
                    <ThroughputCard figures={data} window={window} />
                    <LatencyCard figures={data} />
                  </div>
                )}
              </>
            )
          }
        </Show>
        {may('admin') && <HostCards />}
        <div className="grid-two">
          {figures.data && figures.data.skills.length > 0 && <SkillsCard figures={figures.data} />}
          <EventsCard />
        </div>
      </div>
    </Page>
  );
}

function Tiles({ figures }: { readonly figures: ExecutionFigures }) {
  const sum = (pick: (point: ExecutionFigures['points'][number]) => number): number =>
    figures.points.reduce((total, point) => total + pick(point), 0);
  const failed = sum((point) => point.failed);
  const all = sum((point) => point.success + point.failed + point.other);
  const [error] = figures.errors;
  return (
    <div className="tiles">
      <Tile
        name="Running now"
        value={formatCount(figures.running)}
        note={`${formatCount(figures.queued)} waiting`}
        to="/executions?status=running"
      />
      <Tile name="Executions" value={formatCount(all)} note={figures.complete ? undefined : 'newest part of the time'} to="/executions" />
      <Tile
        name="Failed"
        value={formatCount(failed)}
        note={error ? `most: ${error.code}` : all > 0 ? 'none' : undefined}
        bad={failed > 0}
        to="/executions?status=failed"
      />
      <Tile name="Time, p50" value={formatMs(figures.total?.p50)} note={`p95 ${formatMs(figures.total?.p95)}`} />
      <Tile name="Served warm" value={figures.warm === null ? '–' : formatPercent(figures.warm)} note="from what stood ready" />
    </div>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
  readonly bad?: boolean;
  readonly to?: string;
}

function Tile({ name, value, note, bad = false, to }: TileProps) {
  const inside = (
    <>
      <span className="name">{name}</span>
      <strong className={bad ? 'bad' : undefined}>{value}</strong>
      <span className="note">{note ?? '\u00a0'}</span>
    </>
  );
  return to ? (
    <Link className="tile" to={to}>
      {inside}
    </Link>
  ) : (
    <div className="tile">{inside}</div>
  );
}
