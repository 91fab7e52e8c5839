/** Names of secrets. No answer of the box ever has a value, so there is none to show. */

import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useMore } from '../../box/use-more.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmAct, Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { More } from '../../parts/more.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';

export function Secrets() {
  const { client, tenant } = useBox();
  const secrets = useMore(`${tenant} secrets`, (cursor, signal) =>
    client.secrets.list({ limit: 100, ...(cursor !== undefined && { cursor }) }, { signal }),
  );
  /** The empty text: a new one. */
  const [setting, setSetting] = useState<string>();
  const [deleting, setDeleting] = useState<string>();
  return (
    <>
      <div className="filters">
        <span>
          Of <strong>{tenant}</strong>
        </span>
        <span className="rest" />
        <Button kind="main" icon="plus" onClick={() => setSetting('')}>
          New secret
        </Button>
      </div>
      <Card title="Secrets">
        <Show of={secrets}>
          {(items) =>
            items.length === 0 ? (
              <Empty small title="There are no secrets yet" icon="key" command="cat token.txt | skillbox secret set GITHUB_TOKEN">
                <p>The egress proxy adds them to requests of sandboxes, which never see them.</p>
              </Empty>
            ) : (
              <div className="scroll-x">
                <table className="table">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th>Set</th>
                      <th>By</th>
                      <th>
                        <span className="visually-hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map(({ name, updated_at, updated_by }) => (
                      <tr key={name}>
                        <td className="mono">{name}</td>
                        <td className="nowrap">
                          <Ago time={updated_at} />
                        </td>
                        <td className="faint">{updated_by}</td>
                        <td className="right nowrap">
                          <Button label={`Set ${name} anew`} onClick={() => setSetting(name)}>
                            Set anew
                          </Button>{' '}
                          <Button kind="danger" label={`Delete ${name}`} onClick={() => setDeleting(name)}>
                            Delete
                          </Button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Show>
        <More of={secrets} />
      </Card>
      {setting !== undefined && <SetSecret name={setting} onClose={() => setSetting(undefined)} onDone={secrets.reload} />}
      {deleting !== undefined && <Delete name={deleting} onClose={() => setDeleting(undefined)} onDone={secrets.reload} />}
    </>
  );
}

function SetSecret({ name: given, onClose, onDone }: { readonly name: string; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [name, setName] = useState(given);
  const [value, setValue] = useState('');
  const set = useAct(async () => {
    await client.secrets.set(name.trim(), value);
    say(`${name.trim()} is set.`);
    onClose();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void set.run();
  };
  return (
    <Dialog title={given ? `Set ${given} anew` : 'New secret'} onClose={onClose}>
      <form className="form" onSubmit={submit} autoComplete="off">
        {!given && (
          <Field label="Name" hint="Such as GITHUB_TOKEN">
            {(control) => <input {...control} className="input" required value={name} onChange={({ target }) => setName(target.value)} />}
          </Field>
        )}
        <Field label="Value" hint="It is kept sealed, and nobody can read it again">
          {(control) => (
            <input
              {...control}
              className="input"
              type="password"
              autoComplete="new-password"
              required
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          )}
        </Field>
        <FailureNote failure={set.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={set.busy}>
            Set
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function Delete({ name, onClose, onDone }: { readonly name: string; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const act = async () => {
    await client.secrets.delete(name);
    say(`${name} is deleted.`);
    onClose();
    onDone();
  };
  return (
    <ConfirmAct title={`Delete ${name}?`} verb="Delete" act={act} onClose={onClose}>
      <p>What needs it is refused from the next request on.</p>
    </ConfirmAct>
  );
}
