/** Hubs that get events of the tenant, how they do, and what was sent to them. */

import type { CreatedWebhook } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { ConfirmAct, Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatMs } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';
import { HookState } from './hook-state.tsx';
import { WebhookDetail } from './webhook.tsx';

export function Webhooks() {
  const { client, tenant } = useBox();
  const [query, change] = useQuery();
  const open = query.get('name');
  const hooks = useLoad(`${tenant} webhooks`, async (signal) => (await client.webhooks.list({ signal })).items, { every: 10_000 });
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedWebhook>();
  const [deleting, setDeleting] = useState<string>();
  const test = useAct(async (name: string) => {
    const { ok, status, error, ms } = await client.webhooks.test(name);
    say(ok ? `${name} answered ${status} in ${formatMs(ms)}.` : `${name} did not take it: ${error ?? `status ${status}`}.`);
    hooks.reload();
  });
  return (
    <>
      <div className="filters">
        <span>
          Of <strong>{tenant}</strong> and of the manifest
        </span>
        <span className="rest" />
        <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
          New webhook
        </Button>
      </div>
      <FailureNote failure={test.failure} />
      <Card title="Webhooks">
        <Show of={hooks}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                small
                title="There are no webhooks yet"
                icon="link"
                command="skillbox webhook create hub https://hub.example/skillbox"
              />
            ) : (
              <div className="scroll-x">
                <table className="table">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th>Events</th>
                      <th>State</th>
                      <th className="right">Waiting</th>
                      <th className="right">Given up</th>
                      <th>
                        <span className="visually-hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((hook) => (
                      <tr key={hook.name}>
                        <td>
                          <button type="button" className="as-link" onClick={() => change({ name: hook.name })}>
                            {hook.name}
                          </button>
                          <div className="faint wrap">{hook.url}</div>
                        </td>
                        <td className="wrap">{hook.events.join(', ')}</td>
                        <td>
                          <HookState of={hook} />
                        </td>
                        <td className="right">{hook.pending}</td>
                        <td className={hook.dead > 0 ? 'right bad' : 'right'}>{hook.dead}</td>
                        <td className="right nowrap">
                          <Button busy={test.busy} label={`Test ${hook.name}`} onClick={() => void test.run(hook.name)}>
                            Test
                          </Button>{' '}
                          {hook.source === 'api' && (
                            <Button kind="danger" label={`Delete ${hook.name}`} onClick={() => setDeleting(hook.name)}>
                              Delete
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
      {open && <WebhookDetail key={open} name={open} onClose={() => change({ name: undefined })} />}
      {creating && (
        <Create
          onClose={() => setCreating(false)}
          onCreated={(hook) => {
            setCreating(false);
            setCreated(hook);
            hooks.reload();
          }}
        />
      )}
      {created && (
        <Dialog title={`The secret of ${created.name}`} onClose={() => setCreated(undefined)}>
          <p>It signs deliveries. Copy it now: it is shown this once.</p>
          <CommandLine text={created.secret} />
          <footer>
            <Button kind="main" onClick={() => setCreated(undefined)}>
              I have it
            </Button>
          </footer>
        </Dialog>
      )}
      {deleting !== undefined && <Delete name={deleting} onClose={() => setDeleting(undefined)} onDone={hooks.reload} />}
    </>
  );
}

function Create({ onClose, onCreated }: { onClose(): void; onCreated(hook: CreatedWebhook): void }) {
  const { client } = useBox();
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState('sandbox.*');
  const create = useAct(async () =>
    onCreated(await client.webhooks.create({ name: name.trim(), url: url.trim(), events: events.split(/[\s,]+/).filter(Boolean) })),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void create.run();
  };
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <Field label="Name">
          {(control) => <input {...control} className="input" required value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
        <Field label="Address">
          {(control) => (
            <input
              {...control}
              className="input"
              type="url"
              required
              placeholder="https://hub.example/skillbox"
              value={url}
              onChange={({ target }) => setUrl(target.value)}
            />
          )}
        </Field>
        <Field label="Events" hint="Such as sandbox.* execution.finished">
          {(control) => <input {...control} className="input" required value={events} onChange={({ target }) => setEvents(target.value)} />}
        </Field>
        <FailureNote failure={create.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={create.busy}>
            Make the webhook
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function Delete({ name, onClose, onDone }: { readonly name: string; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const act = async () => {
    await client.webhooks.delete(name);
    say(`${name} is deleted.`);
    onClose();
    onDone();
  };
  return (
    <ConfirmAct title={`Delete ${name}?`} verb="Delete" act={act} onClose={onClose}>
      <p>What still waits for its hub is gone with it.</p>
    </ConfirmAct>
  );
}
