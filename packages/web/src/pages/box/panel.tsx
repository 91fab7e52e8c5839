/** One item beside the graph: how it is, why it is so, what it needs, and what can be done. */

import type { RenderedGraph, RuntimeStatus, ServiceStatus } from '@skillbox/sdk';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { useBox } from '../../box/box.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { Facts } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link } from '../../router.tsx';
import { ServiceActions } from './actions.tsx';
import { attentionTo, declaredIn, type Item, titles } from './items.ts';
import { useSelection } from './selection.tsx';

interface Props {
  readonly item: Item;
  readonly items: readonly Item[];
  readonly status: RuntimeStatus;
  readonly rendered: RenderedGraph | undefined;
  readonly needs: ReadonlyMap<string, readonly string[]>;
  onOpen(key: string): void;
  onClose(): void;
  onDone(): void;
}

export function Panel({ item, items, status, rendered, needs, onOpen, onClose, onDone }: Props) {
  const { may } = useBox();
  const selection = useSelection();
  const holder = useRef<HTMLElement>(null);
  // On a phone it stands below the list: who opened it wants to see it.
  useEffect(() => {
    holder.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const leave = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onClose();
  };
  const service = item.section === 'services' ? status.services.find(({ id }) => id === item.id) : undefined;
  const neededBy = [...needs].flatMap(([key, all]) => (all.includes(item.key) ? [key] : []));
  return (
    <aside ref={holder} className="box-panel card" aria-label={`${titles[item.section]} ${item.id}`} onKeyDown={leave}>
      <header>
        <h2>{item.id}</h2>
        <Badge text={item.state} tone={item.tone} />
        <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
      </header>
      <div className="inside stack">
        {service && (
          <div className="cluster">
            {may('graph:use') && <ServiceActions service={service} selection={selection} onDone={onDone} />}
            <Link className="button plain" to={serviceAddress(service.id, selection)}>
              Log
            </Link>
          </div>
        )}
        {attentionTo(status.attention, item).map(({ message, fix }) => (
          <div key={message} className="problem-box">
            {message}
            {fix && <CommandLine text={fix} />}
          </div>
        ))}
        <Facts of={factsOf(item, service)} />
        <Linked title="Needs" keys={needs.get(item.key) ?? []} items={items} onOpen={onOpen} />
        <Linked title="Needed by" keys={neededBy} items={items} onOpen={onOpen} />
        <Declared item={item} rendered={rendered} />
      </div>
    </aside>
  );
}

export function serviceAddress(id: string, selection: { readonly client?: string; readonly profile?: string }): string {
  const query = new URLSearchParams({ ...selection }).toString();
  return `/box/services/${encodeURIComponent(id)}${query && `?${query}`}`;
}

export function factsOf(item: Item, service: ServiceStatus | undefined): (readonly [string, ReactNode])[] {
  const facts: (readonly [string, ReactNode])[] = [
    ['Kind', service && service.kind !== 'service' ? `service, ${service.kind}` : titles[item.section]],
  ];
  if (item.detail !== null) facts.push([service ? 'Why' : 'Detail', item.detail]);
  if (service) {
    facts.push(
      [
        'Process',
        service.pid === null ? null : `pid ${service.pid}${service.sandbox === null ? ', on the host' : `, in ${service.sandbox}`}`,
      ],
      ['Health', service.healthy === null ? null : service.healthy ? 'healthy' : 'unhealthy'],
      ['Started', service.started_at === null ? null : <Ago key="started" time={service.started_at} />],
      ['Restarts', `${service.restarts} by pulse`],
      ['Mode', service.mode === null ? service.modes.join(', ') : `${service.mode} (of ${service.modes.join(', ')})`],
      ['Kept alive', service.wanted ? 'yes' : 'no: nobody asked for it'],
    );
  }
  facts.push(['Declared by', item.client === null ? 'the box' : `client ${item.client}`]);
  if (item.notes !== null) facts.push(['Notes', item.notes]);
  return facts;
}

function Linked({
  title,
  keys,
  items,
  onOpen,
}: {
  readonly title: string;
  readonly keys: readonly string[];
  readonly items: readonly Item[];
  onOpen(key: string): void;
}) {
  const found = items.filter(({ key }) => keys.includes(key));
  if (found.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className="linked">
        {found.map(({ key, id, section, state, tone }) => (
          <li key={key}>
            <Badge text={state} tone={tone} />
            <button type="button" className="as-link" onClick={() => onOpen(key)}>
              {id}
            </button>
            <span className="faint">{titles[section]}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Fields that the manifest has under another name. */
const declaredAs: Readonly<Record<string, string>> = {
  place: 'path',
  commands: 'command',
  config: 'skill_repos_config',
  lock: 'lock_path',
  targets: 'install_targets',
};

/** Each value with the file and line it came from. */
function Declared({ item, rendered }: { readonly item: Item; readonly rendered: RenderedGraph | undefined }) {
  const declared = declaredIn(rendered, item.section).find(([id]) => id === item.id)?.[1];
  if (!declared || !rendered) return null;
  const prefix = `${item.section}.${item.id}`;
  const whole = rendered.why.find(({ path }) => path === prefix);
  const from = (name: string): string => {
    const under = (own: string) => rendered.why.find(({ path }) => path === `${prefix}.${own}` || path.startsWith(`${prefix}.${own}.`));
    const found = under(name) ?? under(declaredAs[name] ?? name) ?? whole;
    return found === undefined || found.line === 0 ? 'default' : `${found.file}:${found.line}`;
  };
  return (
    <section aria-label="Declared">
      <h3>Declared</h3>
      <dl className="declared">
        {Object.entries(declared)
          .filter(([name, value]) => name !== 'id' && !(Array.isArray(value) && value.length === 0))
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
                <small className="faint">{from(name)}</small>
              </dd>
            </div>
          ))}
      </dl>
    </section>
  );
}
