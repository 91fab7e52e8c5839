/** What happened, newest first: filtered, looked into, and taken along as a file. */

import type { BoxEvent, Client } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useMore } from '../../box/use-more.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { saveBytes } from '../../parts/download.ts';
import { formatTime } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { Menu } from '../../parts/menu.tsx';
import { More } from '../../parts/more.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';
import { toCsv } from './event-export.ts';

const kinds = [
  ['audit.', 'Administrative acts'],
  ['', 'Everything'],
  ['skill.', 'Skills'],
  ['execution.', 'Executions'],
  ['sandbox.', 'Sandboxes'],
  ['webhook.', 'Webhooks'],
] as const;
const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
const mostExported = 10_000;

type Filter = NonNullable<Parameters<Client['events']['list']>[0]>;

export function Audit() {
  const { client } = useBox();
  const [query, change] = useQuery();
  const type = query.get('type') ?? 'audit.';
  const subject = query.get('subject') ?? '';
  const within = query.get('within') ?? '';
  const filter = (): Filter => ({
    ...(type !== 'all' && type !== '' && { type }),
    ...(/^[a-z_]+:.+/.test(subject) && { subject }),
    ...(within in spans && { since: new Date(Date.now() - spans[within as keyof typeof spans]).toISOString() }),
  });
  const events = useMore(`events ${type} ${subject} ${within}`, (cursor, signal) =>
    client.events.list({ limit: 100, ...filter(), ...(cursor !== undefined && { cursor }) }, { signal }),
  );
  const [open, setOpen] = useState<BoxEvent>();
  const save = useAct(async (format: 'csv' | 'json') => {
    const all: BoxEvent[] = [];
    for await (const event of client.events.all({ ...filter(), limit: 500 })) if (all.push(event) >= mostExported) break;
    const name = `events-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${format}`;
    saveBytes(name, new TextEncoder().encode(format === 'csv' ? toCsv(all) : JSON.stringify(all, null, 2)));
    say(`${all.length} events in ${name}${all.length >= mostExported ? ', the newest; narrow the time for others' : ''}.`);
  });
  return (
    <>
      <div className="filters">
        <select
          className="input"
          aria-label="Kind"
          value={type === '' ? 'all' : type}
          onChange={({ target }) => change({ type: target.value === 'audit.' ? undefined : target.value })}
        >
          {kinds.map(([value, title]) => (
            <option key={value} value={value || 'all'}>
              {title}
            </option>
          ))}
          {!kinds.some(([value]) => value === type || (value === '' && type === 'all')) && <option value={type}>{type}</option>}
        </select>
        <input
          className="input"
          aria-label="Only about"
          placeholder="About, such as key:ID"
          value={subject}
          onChange={({ target }) => change({ subject: target.value })}
        />
        <select className="input" aria-label="Time" value={within} onChange={({ target }) => change({ within: target.value })}>
          <option value="">Any time</option>
          {Object.keys(spans).map((each) => (
            <option key={each} value={each}>
              Last {each}
            </option>
          ))}
        </select>
        <span className="rest" />
        <Menu
          title="Export"
          icon="download"
          items={[
            { title: 'As CSV', icon: 'file', act: () => void save.run('csv') },
            { title: 'As JSON', icon: 'file', act: () => void save.run('json') },
          ]}
        />
      </div>
      <FailureNote failure={save.failure} />
      <Card title="Events">
        <Show of={events}>
          {(items) =>
            items.length === 0 ? (
              <Empty small title="Nothing of this kind happened" command="skillbox events --type audit." />
            ) : (
              <Rows of={items} onOpen={setOpen} />
            )
          }
        </Show>
        <More of={events} title="Older events" />
      </Card>
      {open && (
        <Dialog title={open.type} onClose={() => setOpen(undefined)}>
          <Facts
            of={[
              ['Time', formatTime(open.time)],
              ['Who', `${open.actor.kind} ${open.actor.id}`],
              ['About', `${open.subject.type}:${open.subject.id}`],
              ['Tenant', open.tenant],
              ['Host', open.host],
              ['Id', <code key="id">{open.id}</code>],
            ]}
          />
          <JsonTree value={open.data} label="particulars" />
        </Dialog>
      )}
    </>
  );
}

function Rows({ of, onOpen }: { readonly of: readonly BoxEvent[]; onOpen(event: BoxEvent): void }) {
  return (
    <div className="scroll-x">
      <table className="table">
        <thead>
          <tr>
            <th>Time</th>
            <th>What</th>
            <th>About</th>
            <th>Who</th>
            <th>Tenant</th>
          </tr>
        </thead>
        <tbody>
          {of.map((event) => (
            <tr key={event.id}>
              <td className="nowrap">{formatTime(event.time)}</td>
              <td>
                <button type="button" className="as-link mono" onClick={() => onOpen(event)}>
                  {event.type}
                </button>
              </td>
              <td className="wrap">
                <span className="faint">{event.subject.type}</span> {event.subject.id}
              </td>
              <td className="faint wrap">
                {event.actor.kind} {event.actor.id}
              </td>
              <td>{event.tenant}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
