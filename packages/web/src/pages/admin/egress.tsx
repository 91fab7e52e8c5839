/** What sandboxes asked the way out for, and what the egress proxy decided. */

import type { BoxEvent, Client } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useMore } from '../../box/use-more.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { formatTime } from '../../parts/format.ts';
import { More } from '../../parts/more.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Link, useQuery } from '../../router.tsx';

const decisions: Readonly<Record<string, { readonly title: string; readonly tone: Tone }>> = {
  refused: { title: 'Refused', tone: 'bad' },
  allowed: { title: 'Allowed', tone: 'good' },
  ended: { title: 'Ended', tone: 'plain' },
  more: { title: 'Counted only', tone: 'warn' },
};

export function Egress() {
  const { client } = useBox();
  const [query, change] = useQuery();
  const which = query.get('decision') ?? 'refused';
  const sandbox = query.get('sandbox') ?? '';
  const events = useMore(`egress ${which} ${sandbox}`, (cursor, signal) => listDecisions(client, which, sandbox, cursor, signal), {
    every: 10_000,
  });
  return (
    <>
      <div className="filters">
        <select
          className="input"
          aria-label="Decision"
          value={which}
          onChange={({ target }) => change({ decision: target.value === 'refused' ? undefined : target.value })}
        >
          {Object.entries(decisions).map(([id, { title }]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
        <input
          className="input"
          aria-label="Only of this sandbox"
          placeholder="Only of sandbox"
          value={sandbox}
          onChange={({ target }) => change({ sandbox: target.value })}
        />
      </div>
      <Card title="Decisions of the egress proxy">
        <Show of={events}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                small
                title={which === 'refused' ? 'Nothing was refused' : 'There are none'}
                icon="shield"
                command={`skillbox events --type sandbox.egress_${which}`}
              />
            ) : (
              <Decisions of={items} />
            )
          }
        </Show>
        <More of={events} title="Older decisions" />
      </Card>
    </>
  );
}

const listDecisions = (client: Client, which: string, sandbox: string, cursor: string | undefined, signal?: AbortSignal) =>
  client.events.list(
    {
      type: `sandbox.egress_${Object.hasOwn(decisions, which) ? which : 'refused'}`,
      limit: 100,
      ...(sandbox.trim() && { subject: `sandbox:${sandbox.trim()}` }),
      ...(cursor !== undefined && { cursor }),
    },
    { signal },
  );

function Decisions({ of }: { readonly of: readonly BoxEvent[] }) {
  return (
    <div className="scroll-x">
      <table className="table">
        <thead>
          <tr>
            <th>Time</th>
            <th>Decision</th>
            <th>What was asked</th>
            <th>Sandbox</th>
            <th>Tenant</th>
          </tr>
        </thead>
        <tbody>
          {of.map((event) => {
            const { title, tone } = decisions[event.type.replace('sandbox.egress_', '')] ?? { title: event.type, tone: 'plain' as const };
            return (
              <tr key={event.id}>
                <td className="nowrap">{formatTime(event.time)}</td>
                <td>
                  <Badge text={title} tone={tone} />
                </td>
                <td className="wrap mono">
                  {Object.entries(event.data)
                    .filter(([, value]) => value !== null && value !== undefined)
                    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
                    .join(' ')}
                </td>
                <td>
                  <Link to={`/sandboxes/${encodeURIComponent(event.subject.id)}`}>{event.subject.id}</Link>
                </td>
                <td>{event.tenant}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
