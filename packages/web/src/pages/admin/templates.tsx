/** Recipes of sandboxes: what each gives, who would make one now, and a new version of one. */

import { SkillboxError, type Template } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatBytes, formatMs } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';

export function Templates() {
  const { client, may } = useBox();
  const [query, change] = useQuery();
  const name = query.get('name');
  const templates = useLoad('templates', async (signal) => (await client.templates.list({ signal })).items);
  const [editing, setEditing] = useState(false);
  return (
    <>
      <div className="filters">
        <span className="rest" />
        {may('admin') && (
          <Button kind="main" icon="plus" onClick={() => setEditing(true)}>
            New template
          </Button>
        )}
      </div>
      <Card title="Templates">
        <Show of={templates}>
          {(items) =>
            items.length === 0 ? (
              <Empty small title="There are no templates" command="skillbox template apply template.yaml" />
            ) : (
              <div className="scroll-x">
                <table className="table">
                  <thead>
                    <tr>
                      <th>Template</th>
                      <th>Providers</th>
                      <th className="right">CPU</th>
                      <th className="right">Memory</th>
                      <th>Network</th>
                      <th className="right">Lives</th>
                      <th className="right">Credits an hour</th>
                      <th>From</th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((template) => (
                      <tr key={template.name}>
                        <td>
                          <button type="button" className="as-link" onClick={() => change({ name: template.name })}>
                            {template.name}
                          </button>
                          <span className="faint">@{template.version}</span>{' '}
                          {template.admin_only && <Badge text="administrators" tone="plain" />}
                          <div className="faint wrap">{template.description}</div>
                        </td>
                        <td>{template.providers.join(', ')}</td>
                        <td className="right">{template.resources.cpu}</td>
                        <td className="right nowrap">{formatBytes(template.resources.memory_bytes)}</td>
                        <td>{template.network.mode}</td>
                        <td className="right nowrap">{formatMs(template.ttl.default_ms)}</td>
                        <td className="right">{template.price_per_hour}</td>
                        <td className="nowrap">{template.source}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Show>
      </Card>
      {name && <Detail key={name} name={name} onClose={() => change({ name: undefined })} />}
      {editing && <Apply onClose={() => setEditing(false)} onDone={templates.reload} />}
    </>
  );
}

function Detail({ name, onClose }: { readonly name: string; onClose(): void }) {
  const { client, tenant } = useBox();
  const template = useLoad(`template ${name}`, (signal) => client.templates.get(name, { signal }));
  const route = useLoad(`${tenant} route ${name}`, (signal) => client.templates.explain(name, { signal }));
  return (
    <div className="grid-two">
      <Card title={name} actions={<Button kind="quiet" icon="close" label="Close" onClick={onClose} />}>
        <div className="inside">
          <Show of={template}>{(of) => <Recipe of={of} />}</Show>
        </div>
      </Card>
      <Card title="Who would make one now">
        <Show of={route}>
          {({ route: candidates }) => (
            <ul className="rows" aria-label="Candidates">
              {candidates.map(({ provider, taken, reason }) => (
                <li key={provider}>
                  <Badge text={taken ? 'taken' : 'passed over'} tone={taken ? 'good' : 'plain'} />
                  <strong>{provider}</strong>
                  <span className="faint wrap">{reason}</span>
                </li>
              ))}
            </ul>
          )}
        </Show>
      </Card>
    </div>
  );
}

function Recipe({ of }: { readonly of: Template }) {
  return (
    <div className="stack">
      <Facts
        of={[
          ['Image', of.image],
          ['Disk', formatBytes(of.resources.disk_bytes)],
          ['Processes', of.resources.processes],
          ['Longest life', formatMs(of.ttl.max_ms)],
          ['When idle', of.idle.after_ms === null ? of.idle.action : `${of.idle.action} after ${formatMs(of.idle.after_ms)}`],
          ['Network', of.network.mode],
        ]}
      />
      <JsonTree value={of} label={of.name} />
    </div>
  );
}

const example = JSON.stringify(
  { description: '', resources: { cpu: 1, memory: '512Mi' }, network: { mode: 'none' }, ttl: { default: '1h' } },
  null,
  2,
);

function Apply({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [name, setName] = useState('');
  const [text, setText] = useState(example);
  const apply = useAct(async () => {
    const made = await client.templates.apply({ ...definitionOf(text), name: name.trim() });
    say(`${made.name}@${made.version} is there.`);
    onClose();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void apply.run();
  };
  return (
    <Dialog title="New template, or a new version of one" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Name">
          {(control) => <input {...control} className="input" required value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
        <Field label="Definition as JSON" hint="What is left out has its default. docs/templates.md lists everything.">
          {(control) => (
            <textarea
              {...control}
              className="input code"
              rows={14}
              spellCheck={false}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
        <FailureNote failure={apply.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={apply.busy}>
            Apply
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function definitionOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new SkillboxError('usage', `This is not JSON: ${(cause as Error).message}`, { cause });
  }
  throw new SkillboxError('usage', 'A definition is an object.', { hint: 'Such as {"resources": {"cpu": 1}}.' });
}
