/** One webhook: how its hub does, and what was delivered to it. */

import type { WebhookDelivery } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { useMore } from '../../box/use-more.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { More } from '../../parts/more.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';
import { HookState } from './hook-state.tsx';

const states = ['pending', 'delivered', 'dead'] as const;
const tones = { pending: 'busy', delivered: 'good', dead: 'bad' } as const;

export function WebhookDetail({ name, onClose }: { readonly name: string; onClose(): void }) {
  const { client, tenant } = useBox();
  const [query, change] = useQuery();
  const state = states.find((each) => each === query.get('delivery'));
  const hook = useLoad(`${tenant} webhook ${name}`, (signal) => client.webhooks.get(name, { signal }));
  const deliveries = useMore(`${tenant} deliveries ${name} ${state}`, (cursor, signal) =>
    client.webhooks.deliveries(name, { limit: 50, ...(state && { state }), ...(cursor !== undefined && { cursor }) }, { signal }),
  );
  const retry = useAct(async () => {
    const { retried } = await client.webhooks.retry(name);
    say(`${retried} ${retried === 1 ? 'delivery' : 'deliveries'} will be sent again.`);
    hook.reload();
    deliveries.reload();
  });
  return (
    <Card title={name} actions={<Button kind="quiet" icon="close" label="Close" onClick={onClose} />}>
      <div className="inside stack">
        <Show of={hook} rows={2}>
          {(of) => (
            <Facts
              of={[
                ['Address', of.url],
                ['State', <HookState key="state" of={of} />],
                ['Events behind', of.events_behind],
                ['From', of.source],
                ['Made', of.created_at && <Ago key="made" time={of.created_at} />],
              ]}
            />
          )}
        </Show>
        <div className="filters">
          <select
            className="input"
            aria-label="Deliveries"
            value={state ?? ''}
            onChange={({ target }) => change({ delivery: target.value })}
          >
            <option value="">All deliveries</option>
            {states.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <Button icon="refresh" busy={retry.busy} onClick={() => void retry.run()}>
            Send again what was given up
          </Button>
        </div>
        <FailureNote failure={retry.failure} />
      </div>
      <Show of={deliveries}>
        {(items) =>
          items.length === 0 ? (
            <Empty small title="Nothing was sent yet" command={`skillbox webhook test ${name}`} />
          ) : (
            <Deliveries of={items} />
          )
        }
      </Show>
      <More of={deliveries} title="Older deliveries" />
    </Card>
  );
}

function Deliveries({ of }: { readonly of: readonly WebhookDelivery[] }) {
  return (
    <div className="scroll-x">
      <table className="table">
        <thead>
          <tr>
            <th>Event</th>
            <th>About</th>
            <th>State</th>
            <th className="right">Attempts</th>
            <th>Answer</th>
          </tr>
        </thead>
        <tbody>
          {of.map((delivery) => (
            <tr key={delivery.event_id}>
              <td className="mono">{delivery.type}</td>
              <td className="faint wrap">
                {delivery.subject.type} {delivery.subject.id}
              </td>
              <td>
                <Badge text={delivery.state} tone={tones[delivery.state]} />
              </td>
              <td className="right">{delivery.attempts}</td>
              <td className="wrap">{delivery.error ?? delivery.status ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
