/** All executions, filtered by what stands in the address, live. */

import type { ExecutionSummary } from '@skillbox/sdk';
import { memo, useCallback, useRef, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { formatCount, formatMs } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { Empty, FailureState, Loading } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Virtual, type VirtualHandle } from '../../parts/virtual.tsx';
import { Link, useQuery } from '../../router.tsx';
import { useExecutions } from './use-executions.ts';
import './executions.css';

const statuses = ['queued', 'running', 'success', 'failed', 'timeout', 'cancelled'] as const;
const times = { '15m': 900, '1h': 3600, '24h': 86_400, '7d': 604_800 } as const;
const rowHeight = 36;
/** The next page is asked for when so few rows are left below. */
const ahead = 60;

export default function ExecutionsPage() {
  const [query, change] = useQuery();
  const list = useRef<VirtualHandle>(null);
  const [top, setTop] = useState(true);
  const [fresh, setFresh] = useState(false);
  const status = statuses.find((each) => each === query.get('status'));
  const skill = query.get('skill') ?? '';
  const since = query.get('since') ?? '';
  const filter = { ...(status && { status }), ...(skill && { skill }), ...(since && { since: sinceTime(since) }) };
  const { items, loading, complete, failure, more, refresh } = useExecutions(filter);

  useOnEvents(
    ({ type }) => type.startsWith('execution.'),
    () => (top ? refresh() : setFresh(true)),
  );
  const onRange = useCallback(
    (first: number, last: number) => {
      setTop(first === 0);
      if (last >= items.length - ahead) more();
    },
    [items.length, more],
  );
  const isFiltered = status !== undefined || skill !== '' || since !== '';

  return (
    <Page title="Executions" full actions={<Filters status={status} skill={skill} since={since} onChange={change} />}>
      {fresh && !top && (
        <div className="fresh">
          <Button
            icon="up"
            onClick={() => {
              setFresh(false);
              list.current?.scrollToRow(0);
              refresh();
            }}
          >
            There are newer ones
          </Button>
        </div>
      )}
      {items.length === 0 && failure && <FailureState failure={failure} retry={refresh} />}
      {items.length === 0 && !failure && loading && <Loading rows={12} />}
      {items.length === 0 && !failure && !loading && (
        <Empty
          icon="play"
          title={isFiltered ? 'None fits' : 'Nothing ran yet'}
          {...(!isFiltered && { command: `skillbox run data-analysis --input '{"data":[1,2,3]}'` })}
        >
          {isFiltered && <Button onClick={() => change({ status: undefined, skill: undefined, since: undefined })}>Show all</Button>}
        </Empty>
      )}
      {items.length > 0 && (
        <>
          <div className="exec-row head" aria-hidden="true">
            <span>Status</span>
            <span>Skill</span>
            <span className="id">Id</span>
            <span className="error">Error</span>
            <span className="wait">Waited</span>
            <span className="took">Took</span>
            <span className="when">Started</span>
          </div>
          <Virtual
            handle={list}
            className="exec-list"
            label="Executions"
            count={items.length}
            rowHeight={rowHeight}
            onRange={onRange}
            row={(index) => <Row item={items[index]} />}
          />
          <div className="exec-foot" role="status">
            {formatCount(items.length)}
            {complete ? '' : '+'} {items.length === 1 ? 'execution' : 'executions'}
            {loading && ' · loading'}
          </div>
        </>
      )}
    </Page>
  );
}

/** Records are replaced, never changed: a row whose record is the same stays as it is while others come and go. */
const Row = memo(function Row({ item }: { readonly item: ExecutionSummary | undefined }) {
  if (!item) return null;
  return (
    <Link className="exec-row" to={`/executions/${item.execution_id}`}>
      <span>
        <Badge text={item.status} />
      </span>
      <span className="skill">
        {item.skill_name} <small>{item.skill_version}</small>
      </span>
      <span className="id mono">{item.execution_id.slice(0, 8)}</span>
      <span className="error">{item.error?.code}</span>
      <span className="wait">{item.queued_ms > 0 ? formatMs(item.queued_ms) : ''}</span>
      <span className="took">
        {item.duration_ms === null ? '' : formatMs(item.duration_ms)}
        {item.warm && <small title="Served by a sandbox that stood ready"> warm</small>}
      </span>
      <span className="when">
        <Ago time={item.created_at} />
      </span>
    </Link>
  );
});

interface FilterProps {
  readonly status: string | undefined;
  readonly skill: string;
  readonly since: string;
  onChange(changes: Record<string, string | undefined>): void;
}

function Filters({ status, skill, since, onChange }: FilterProps) {
  const { client, tenant, may } = useBox();
  const known = useLoad(`skills ${tenant}`, async (signal) =>
    may('skills:read') ? (await client.skills.list({ limit: 500 }, { signal })).items : [],
  );
  const names = [...new Set([...(known.data?.map(({ name }) => name) ?? []), ...(skill ? [skill] : [])])].sort();
  return (
    <div className="filters">
      <select className="input" aria-label="Status" value={status ?? ''} onChange={(event) => onChange({ status: event.target.value })}>
        <option value="">Any status</option>
        {statuses.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <select className="input" aria-label="Skill" value={skill} onChange={(event) => onChange({ skill: event.target.value })}>
        <option value="">Any skill</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select className="input" aria-label="Time" value={since} onChange={(event) => onChange({ since: event.target.value })}>
        <option value="">Any time</option>
        {Object.keys(times).map((each) => (
          <option key={each} value={each}>
            Last {each}
          </option>
        ))}
      </select>
    </div>
  );
}

/** To the minute, so that it is the same question for a while. */
function sinceTime(since: string): string {
  const seconds = times[since as keyof typeof times] ?? 3600;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - seconds * 1000).toISOString();
}
