/** Tenants with what they use, and the limits they have. */

import type { Tenant } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Meter } from '../../parts/charts.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatBytes, formatCount } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link } from '../../router.tsx';

export function Tenants() {
  const { client } = useBox();
  const tenants = useLoad('tenants', async (signal) => (await client.tenants.list({ signal })).items);
  const [changing, setChanging] = useState<Tenant | 'new'>();
  return (
    <>
      <div className="filters">
        <span className="faint">A tenant is there once it has a key, a limit or something of its own.</span>
        <span className="rest" />
        <Button kind="main" icon="plus" onClick={() => setChanging('new')}>
          New tenant
        </Button>
      </div>
      <Card title="Tenants and their quotas">
        <Show of={tenants}>
          {(items) =>
            items.length === 0 ? (
              <Empty small title="There are no tenants yet" command="skillbox tenant set acme --slots 4" />
            ) : (
              <div className="scroll-x">
                <table className="table">
                  <thead>
                    <tr>
                      <th>Tenant</th>
                      <th>
                        <span className="visually-hidden">Where it is declared</span>
                      </th>
                      <th>Storage</th>
                      <th className="right">Runs at once</th>
                      <th className="right">Requests a second</th>
                      <th>
                        <span className="visually-hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((tenant) => (
                      <tr key={tenant.name}>
                        <td>
                          <Link to={`/?tenant=${encodeURIComponent(tenant.name)}`}>{tenant.name}</Link>
                        </td>
                        <td>{tenant.declared && <Badge text="in the manifest" tone="plain" />}</td>
                        <td className="wide">
                          {formatBytes(tenant.storage_used_bytes)}{' '}
                          <span className="faint">of {formatBytes(tenant.limits.storage_bytes)}</span>
                          <Meter
                            title={`Storage of ${tenant.name}`}
                            share={tenant.storage_used_bytes / Math.max(1, tenant.limits.storage_bytes)}
                          />
                        </td>
                        <td className="right">{formatCount(tenant.limits.slots)}</td>
                        <td className="right">{formatCount(tenant.limits.requests_per_second)}</td>
                        <td className="right">
                          {!tenant.declared && (
                            <Button icon="edit" label={`Change the limits of ${tenant.name}`} onClick={() => setChanging(tenant)}>
                              Limits
                            </Button>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Show>
      </Card>
      {changing && <Limits of={changing === 'new' ? undefined : changing} onClose={() => setChanging(undefined)} onDone={tenants.reload} />}
    </>
  );
}

function Limits({ of, onClose, onDone }: { readonly of: Tenant | undefined; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [name, setName] = useState(of?.name ?? '');
  const [slots, setSlots] = useState(of ? String(of.limits.slots) : '');
  const [rate, setRate] = useState(of ? String(of.limits.requests_per_second) : '');
  const [storage, setStorage] = useState(of ? String(of.limits.storage_bytes / 2 ** 20) : '');
  const save = useAct(async () => {
    await client.tenants.set(name.trim(), {
      ...(slots.trim() && { slots: Number(slots) }),
      ...(rate.trim() && { requests_per_second: Number(rate) }),
      ...(storage.trim() && { storage_bytes: Math.round(Number(storage) * 2 ** 20) }),
    });
    say(`The limits of ${name.trim()} are set.`);
    onClose();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void save.run();
  };
  const number = (label: string, hint: string, value: string, set: (value: string) => void) => (
    <Field label={label} hint={hint}>
      {(control) => <input {...control} className="input" inputMode="decimal" value={value} onChange={({ target }) => set(target.value)} />}
    </Field>
  );
  return (
    <Dialog title={of ? `Limits of ${of.name}` : 'New tenant'} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {!of && (
          <Field label="Name" hint="Lower-case letters, digits and dashes">
            {(control) => <input {...control} className="input" required value={name} onChange={({ target }) => setName(target.value)} />}
          </Field>
        )}
        {number('Runs at once', 'Executions that may run at the same time', slots, setSlots)}
        {number('Requests a second', 'With bursts of twice that', rate, setRate)}
        {number('Storage in MiB', 'Skills, artifacts and logs', storage, setStorage)}
        <FailureNote failure={save.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={save.busy}>
            Set limits
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
