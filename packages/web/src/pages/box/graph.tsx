/** What is declared, drawn as a graph or as a list, with what needs attention above it. */

import type { RenderedGraph, RuntimeStatus } from '@skillbox/sdk';
import { useMemo } from 'react';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Empty, Show } from '../../parts/states.tsx';
import { Link, useQuery } from '../../router.tsx';
import { BoxActions } from './actions.tsx';
import { AttentionCard } from './attention.tsx';
import { Drawing } from './drawing.tsx';
import { ItemList } from './item-list.tsx';
import { itemsOf, needsOf } from './items.ts';
import { Panel } from './panel.tsx';
import { SelectionFields, useSelection, useStatus } from './selection.tsx';

/** More than this nobody can read as a drawing, and no browser draws it well. */
const mostDrawn = 250;

export function Graph() {
  const { client, may } = useBox();
  const selection = useSelection();
  const status = useStatus(selection);
  const key = JSON.stringify([selection, status.data?.config_hash]);
  const rendered = useLoad(`render ${key}`, (signal) => client.runtime.render({ ...selection, why: true }, { signal }));
  const model = useLoad('describe', (signal) => client.runtime.describe({ signal }));
  return (
    <>
      <div className="filters box-head">
        <SelectionFields clients={model.data?.clients ?? []} profiles={model.data?.profiles ?? []} />
        <span className="rest" />
        {may('graph:use') && <BoxActions selection={selection} onDone={status.reload} />}
      </div>
      <Show of={status}>
        {(data) => (
          <>
            <ToFocused status={data} />
            <Whole status={data} rendered={rendered.data} reload={status.reload} />
          </>
        )}
      </Show>
    </>
  );
}

/** What was focused last is probably what one came for. */
function ToFocused({ status: { client, focus } }: { readonly status: RuntimeStatus }) {
  if (!focus || focus.client === client) return null;
  const query = new URLSearchParams({ client: focus.client, ...(focus.profiles.length > 0 && { profile: focus.profiles.join(',') }) });
  return (
    <div className="cluster">
      <span className="faint">This is {client === null ? 'the box without a client' : `client ${client}`}. Last focused:</span>
      <Link to={`/box?${query}`}>{focus.client}</Link>
    </div>
  );
}

interface Props {
  readonly status: RuntimeStatus;
  readonly rendered: RenderedGraph | undefined;
  reload(): void;
}

function Whole({ status, rendered, reload }: Props) {
  const [query, change] = useQuery();
  const items = useMemo(() => itemsOf(status), [status]);
  const needs = useMemo(() => needsOf(status, rendered), [status, rendered]);
  const words = (query.get('q') ?? '').toLowerCase();
  const shown = items.filter(({ key, state }) => words === '' || `${key} ${state}`.toLowerCase().includes(words));
  const open = (key: string): void => change({ item: key });
  const chosen = items.find(({ key }) => key === query.get('item'));
  const view = query.get('view') === 'list' || shown.length > mostDrawn ? 'list' : 'graph';
  if (items.length === 0)
    return (
      <Empty title="Nothing is declared" icon="branch" command="skillbox render">
        <p>
          Declare repos, tasks and services under <code>graph:</code> in skillbox.yaml, or in the overlay of a client.
        </p>
      </Empty>
    );
  return (
    <>
      <AttentionCard attention={status.attention} items={items} onOpen={open} />
      <div className="filters">
        <div className="choice" role="group" aria-label="View">
          {(['graph', 'list'] as const).map((each) => (
            <button key={each} type="button" aria-pressed={each === view} onClick={() => change({ view: each === 'graph' ? '' : each })}>
              {each === 'graph' ? 'Graph' : 'List'}
            </button>
          ))}
        </div>
        <input
          className="input search"
          type="search"
          aria-label="Filter"
          placeholder="Name, section or state"
          value={query.get('q') ?? ''}
          onChange={({ target }) => change({ q: target.value })}
        />
        <span className="faint" role="status">
          {shown.length} of {items.length}
          {view === 'list' && query.get('view') !== 'list' ? ', too many to draw' : ''}
        </span>
      </div>
      <div className={chosen ? 'box-stage with-panel' : 'box-stage'}>
        {shown.length === 0 ? (
          <Empty title="None of them fits" icon="search" />
        ) : view === 'graph' ? (
          <Drawing items={shown} needs={needs} chosen={chosen?.key} onOpen={open} />
        ) : (
          <ItemList items={shown} chosen={chosen?.key} onOpen={open} />
        )}
        {chosen && (
          <Panel
            key={chosen.key}
            item={chosen}
            items={items}
            status={status}
            rendered={rendered}
            needs={needs}
            onOpen={open}
            onClose={() => change({ item: '' })}
            onDone={reload}
          />
        )}
      </div>
    </>
  );
}
