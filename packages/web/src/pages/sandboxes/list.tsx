/** Sandboxes by their state, kept fresh by what happens to them. */

import type { Client, Page as Items, Sandbox } from '@skillbox/sdk';
import { useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { formatBytes } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain } from '../../parts/toasts.tsx';
import { Link, useQuery } from '../../router.tsx';
import { Countdown } from './countdown.tsx';
import { CreateDialog } from './create.tsx';
import './sandboxes.css';

type State = Sandbox['state'];

const living: readonly State[] = ['requested', 'provisioning', 'ready', 'paused', 'destroying'];
const choices = [
  { id: '', title: 'Living' },
  { id: 'ready', title: 'Ready' },
  { id: 'paused', title: 'Paused' },
  { id: 'failed', title: 'Failed' },
  { id: 'destroyed', title: 'Destroyed' },
  { id: 'all', title: 'All' },
] as const;

export default function Sandboxes() {
  const { client, tenant, may } = useBox();
  const [query, change] = useQuery();
  const chosen = choices.find(({ id }) => id === query.get('state'))?.id ?? '';
  const words = (query.get('q') ?? '').toLowerCase();
  const [more, setMore] = useState<{ readonly key: string; readonly items: readonly Sandbox[]; readonly cursor: string | null }>();
  const key = `${tenant} ${chosen}`;
  const found = useLoad(key, (signal) => load(client, chosen, signal));
  useOnEvents(({ subject }) => subject.type === 'sandbox', found.reload);

  const added = more?.key === key ? more : undefined;
  const cursor = added ? added.cursor : (found.data?.next_cursor ?? null);
  const all = [...(found.data?.items ?? []), ...(added?.items ?? [])];
  const shown = all.filter((sandbox, at) => fits(sandbox, words) && all.findIndex(({ id }) => id === sandbox.id) === at);

  const loadMore = async (): Promise<void> => {
    try {
      const next = await page(client, chosen, cursor);
      setMore({ key, items: [...(added?.items ?? []), ...next.items], cursor: next.next_cursor });
    } catch (error) {
      complain(failureOf(error));
    }
  };

  return (
    <Page
      title="Sandboxes"
      actions={
        may('sandboxes:use') && (
          <Button kind="main" icon="plus" onClick={() => change({ new: 'yes' })}>
            New sandbox
          </Button>
        )
      }
    >
      <div className="filters sandbox-filters">
        <div className="choice" role="group" aria-label="State">
          {choices.map(({ id, title }) => (
            <button key={id} type="button" aria-pressed={id === chosen} onClick={() => change({ state: id })}>
              {title}
            </button>
          ))}
        </div>
        <input
          className="input"
          type="search"
          aria-label="Filter"
          placeholder="Id, template or label"
          value={query.get('q') ?? ''}
          onChange={(event) => change({ q: event.target.value })}
        />
      </div>
      <Show of={found}>
        {() =>
          shown.length === 0 ? (
            <Nothing chosen={chosen} filtered={words !== ''} />
          ) : (
            <>
              <Table sandboxes={shown} />
              {cursor && (
                <div className="more">
                  <Button onClick={() => void loadMore()}>Show older ones</Button>
                </div>
              )}
            </>
          )
        }
      </Show>
      {query.get('new') && may('sandboxes:use') && (
        <CreateDialog
          template={query.get('template') ?? undefined}
          snapshot={query.get('snapshot') ?? undefined}
          onClose={() => change({ new: '', template: '', snapshot: '' })}
        />
      )}
    </Page>
  );
}

/** Few enough live at once for one page of each state; what has ended comes page by page. */
async function load(client: Client, chosen: string, signal: AbortSignal): Promise<Items<Sandbox>> {
  if (chosen !== '') return page(client, chosen, null, signal);
  const pages = await Promise.all(living.map((state) => client.sandboxes.list({ state, limit: 500 }, { signal })));
  const items = pages.flatMap((each) => each.items);
  return { items: items.sort((one, other) => other.created_at.localeCompare(one.created_at)), next_cursor: null };
}

function page(client: Client, chosen: string, cursor: string | null, signal?: AbortSignal): Promise<Items<Sandbox>> {
  const state = chosen === 'all' ? {} : { state: chosen as State };
  return client.sandboxes.list({ ...state, ...(cursor !== null && { cursor }), limit: 100 }, { signal });
}

const fits = ({ id, template, labels, provider }: Sandbox, words: string): boolean =>
  words === '' ||
  [id, template, provider ?? '', ...Object.entries(labels).map(([name, value]) => `${name}=${value}`)]
    .join(' ')
    .toLowerCase()
    .includes(words);

function Nothing({ chosen, filtered }: { readonly chosen: string; readonly filtered: boolean }) {
  if (filtered) return <Empty title="None of them fits" icon="search" />;
  const title = { '': 'No sandbox lives', all: 'There was no sandbox yet' }[chosen] ?? `No sandbox is ${chosen}`;
  return (
    <Empty title={title} icon="box" command="skillbox sandbox create python">
      <p>A sandbox is a machine of its own for an agent: programs, files, ports. It is made in milliseconds.</p>
    </Empty>
  );
}

function Table({ sandboxes }: { readonly sandboxes: readonly Sandbox[] }) {
  return (
    <table className="table sandbox-table">
      <thead>
        <tr>
          <th>Sandbox</th>
          <th>State</th>
          <th>Template</th>
          <th className="wide">Provider</th>
          <th className="wide">Network</th>
          <th className="wide right">Memory</th>
          <th className="right">Ends in</th>
          <th className="wide right">Made</th>
        </tr>
      </thead>
      <tbody>
        {sandboxes.map((sandbox) => (
          <tr key={sandbox.id}>
            <td>
              <Link to={`/sandboxes/${sandbox.id}`} className="mono">
                {sandbox.id}
              </Link>
              <Labels of={sandbox.labels} />
            </td>
            <td>
              <Badge text={sandbox.state} />
            </td>
            <td>{sandbox.template}</td>
            <td className="wide">{sandbox.provider ?? '–'}</td>
            <td className="wide">{sandbox.network}</td>
            <td className="wide right">{formatBytes(sandbox.limits.memory_bytes)}</td>
            <td className="right">{sandbox.expires_at && sandbox.ended_at === null ? <Countdown until={sandbox.expires_at} /> : '–'}</td>
            <td className="wide right">
              <Ago time={sandbox.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Labels({ of }: { readonly of: Sandbox['labels'] }) {
  const all = Object.entries(of);
  if (all.length === 0) return null;
  return (
    <span className="labels">
      {all.map(([name, value]) => (
        <span key={name} className="label-chip">
          {name}={value}
        </span>
      ))}
    </span>
  );
}
