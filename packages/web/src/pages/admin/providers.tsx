/** Who makes sandboxes on this host and how they do; the canary; what a crash left over. */

import type { CanaryRun } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { formatMs } from '../../parts/format.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';

export function Providers() {
  const { client } = useBox();
  const host = useLoad('host', (signal) => client.host.inspect({ signal }), { every: 10_000 });
  const canary = useAct(async () => {
    const { ok } = await client.host.canary();
    say(ok ? 'The canary lives.' : 'The canary failed.');
    host.reload();
  });
  return (
    <>
      <Show of={host}>
        {({ host: id, providers, canary: last }) => (
          <>
            <Card title="Providers" actions={<span className="faint mono">{id}</span>}>
              <ul className="rows" aria-label="Providers">
                {providers.map(({ name, tier, healthy, detail }) => (
                  <li key={name}>
                    <Badge text={healthy ? 'healthy' : 'unhealthy'} tone={healthy ? 'good' : 'bad'} />
                    <strong>{name}</strong> <span className="faint">{tier}</span>
                    <span className="wrap">{detail}</span>
                  </li>
                ))}
              </ul>
            </Card>
            <Card
              title="Canary"
              actions={
                <Button icon="play" busy={canary.busy} onClick={() => void canary.run()}>
                  Send one now
                </Button>
              }
            >
              <div className="inside">
                <FailureNote failure={canary.failure} />
                {last ? <Canary of={last} /> : <Empty small title="None was sent since the start" command="skillbox inspect canary" />}
              </div>
            </Card>
          </>
        )}
      </Show>
      <Stale />
    </>
  );
}

function Canary({ of }: { readonly of: CanaryRun }) {
  return (
    <Facts
      of={[
        ['State', <Badge key="state" text={of.ok ? 'lives' : 'failed'} tone={of.ok ? 'good' : 'bad'} />],
        ['Sent', <Ago key="sent" time={of.time} />],
        ...of.steps.map(({ step, ms }) => [step, formatMs(ms)] as const),
        ...(of.error ? ([['Why', of.error]] as const) : []),
      ]}
    />
  );
}

function Stale() {
  const { client } = useBox();
  const stale = useLoad('stale', async (signal) => (await client.host.stale({ signal })).items);
  const [asking, setAsking] = useState(false);
  const reap = useAct(async () => {
    const { items } = await client.host.reap();
    const gone = items.filter(({ reaped }) => reaped).length;
    say(`${gone} of ${items.length} are gone.`);
    setAsking(false);
    stale.reload();
  });
  return (
    <>
      <Card
        title="Left over"
        actions={
          stale.data &&
          stale.data.length > 0 && (
            <Button kind="danger" icon="trash" onClick={() => setAsking(true)}>
              Remove them
            </Button>
          )
        }
      >
        <Show of={stale} rows={2}>
          {(items) =>
            items.length === 0 ? (
              <Empty small title="No sandbox is left over" icon="check" command="skillbox inspect stale" />
            ) : (
              <ul className="rows" aria-label="Left over">
                {items.map(({ sandbox, provider, why }) => (
                  <li key={sandbox}>
                    <Badge text={why} tone="warn" />
                    <strong className="mono">{sandbox}</strong> <span className="faint">{provider}</span>
                  </li>
                ))}
              </ul>
            )
          }
        </Show>
      </Card>
      {asking && (
        <Confirm
          title="Remove what is left over?"
          verb="Remove"
          busy={reap.busy}
          onClose={() => setAsking(false)}
          onConfirm={() => void reap.run()}
        >
          <p>The box does this by itself in time. What they hold is gone then.</p>
          <FailureNote failure={reap.failure} />
        </Confirm>
      )}
    </>
  );
}
