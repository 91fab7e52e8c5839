/** Credits of the tenant: what it has, where they went, and more for it. */

import type { CreditEntry } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { useMore } from '../../box/use-more.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { StackedBars } from '../../parts/charts.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatTime } from '../../parts/format.ts';
import { More } from '../../parts/more.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link } from '../../router.tsx';
import { perDay } from './per-day.ts';

const amount = (credits: number): string => credits.toLocaleString('en', { maximumFractionDigits: 6 });

export function Credits() {
  const { client, tenant, may } = useBox();
  const balance = useLoad(`${tenant} credits`, (signal) => client.credits.balance({ signal }));
  const history = useMore(`${tenant} ledger`, (cursor, signal) =>
    client.credits.history({ limit: 200, ...(cursor !== undefined && { cursor }) }, { signal }),
  );
  const [granting, setGranting] = useState(false);
  return (
    <>
      <div className="filters">
        <span>
          Of <strong>{tenant}</strong>
        </span>
        <span className="rest" />
        {may('admin') && (
          <Button kind="main" icon="plus" onClick={() => setGranting(true)}>
            Give credits
          </Button>
        )}
      </div>
      <Show of={balance} rows={2}>
        {({ available, held, spent, granted }) => (
          <div className="tiles">
            {(
              [
                ['Available', available, 'for new sandboxes'],
                ['Held', held, 'for sandboxes that live'],
                ['Spent', spent, 'settled so far'],
                ['Granted', granted, 'in all'],
              ] as const
            ).map(([name, value, note]) => (
              <div key={name} className="tile">
                <span className="name">{name}</span>
                <strong>{amount(value)}</strong>
                <span className="note">{note}</span>
              </div>
            ))}
          </div>
        )}
      </Show>
      <Show of={history}>
        {(entries) =>
          entries.length === 0 ? (
            <Card title="Ledger">
              <Empty small title={`Nothing was granted to ${tenant} yet`} command={`skillbox credits grant ${tenant} 100`} />
            </Card>
          ) : (
            <>
              <Card title="Granted and spent, by day">
                <div className="inside">
                  <StackedBars
                    title="Credits by day"
                    series={[
                      { name: 'Granted', colour: 'fill-2' },
                      { name: 'Spent', colour: 'fill-1' },
                    ]}
                    points={perDay(entries)}
                    height={110}
                    format={amount}
                  />
                </div>
              </Card>
              <Ledger entries={entries} />
              <More of={history} title="Older entries" />
            </>
          )
        }
      </Show>
      {granting && (
        <Grant
          onClose={() => setGranting(false)}
          onDone={() => {
            balance.reload();
            history.reload();
          }}
        />
      )}
    </>
  );
}

const tones = { grant: 'good', hold: 'busy', settle: 'warn', release: 'plain' } as const;

function Ledger({ entries }: { readonly entries: readonly CreditEntry[] }) {
  return (
    <Card title="Ledger">
      <div className="scroll-x">
        <table className="table">
          <thead>
            <tr>
              <th>Time</th>
              <th>What</th>
              <th className="right">Credits</th>
              <th>For</th>
              <th>By</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.seq}>
                <td className="nowrap">{formatTime(entry.time)}</td>
                <td>
                  <Badge text={entry.kind} tone={tones[entry.kind]} />
                </td>
                <td className="right mono">{amount(entry.amount)}</td>
                <td className="wrap">
                  {entry.sandbox && <Link to={`/sandboxes/${encodeURIComponent(entry.sandbox)}`}>{entry.sandbox}</Link>} {entry.note}
                </td>
                <td className="faint">{entry.actor}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function Grant({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const { client, tenant } = useBox();
  const [to, setTo] = useState(tenant);
  const [credits, setCredits] = useState('');
  const [note, setNote] = useState('');
  const grant = useAct(async () => {
    await client.credits.grant({ tenant: to.trim(), amount: Number(credits), ...(note.trim() && { note: note.trim() }) });
    say(`${to.trim()} got ${credits.trim()} credits.`);
    onClose();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void grant.run();
  };
  return (
    <Dialog title="Give credits" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Tenant">
          {(control) => <input {...control} className="input" required value={to} onChange={({ target }) => setTo(target.value)} />}
        </Field>
        <Field label="Credits" hint="Exact to a millionth">
          {(control) => (
            <input
              {...control}
              className="input"
              required
              inputMode="decimal"
              value={credits}
              onChange={({ target }) => setCredits(target.value)}
            />
          )}
        </Field>
        <Field label="Note" hint="What it is for">
          {(control) => (
            <input {...control} className="input" maxLength={500} value={note} onChange={({ target }) => setNote(target.value)} />
          )}
        </Field>
        <FailureNote failure={grant.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={grant.busy} disabled={!(Number(credits) > 0)}>
            Give
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
