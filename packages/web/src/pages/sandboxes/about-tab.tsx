/** What it is made of, why this provider made it, and what it reaches. */

import type { EgressRule, Sandbox } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatBytes, formatMs, formatTime } from '../../parts/format.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link } from '../../router.tsx';
import { Labels } from './list.tsx';
import { NetworkFields, type NetworkWish, networkFrom } from './network-fields.tsx';
import { RouteList } from './route-list.tsx';

export function AboutTab({ sandbox, reload }: { readonly sandbox: Sandbox; reload(): void }) {
  const { may } = useBox();
  const { limits } = sandbox;
  const lives = sandbox.state === 'ready' || sandbox.state === 'paused';
  return (
    <div className="sandbox-about">
      <Card title="What it is">
        <div className="inside">
          <Facts
            of={[
              ['Template', sandbox.template],
              ['State', sandbox.reason ? `${sandbox.state}: ${sandbox.reason}` : sandbox.state],
              ['Provider', sandbox.provider && `${sandbox.provider}${sandbox.tier ? `, ${sandbox.tier}` : ''}`],
              ['Host', sandbox.host],
              [
                'Limits',
                `${limits.cpu} CPU, ${formatBytes(limits.memory_bytes)} memory, ${formatBytes(limits.disk_bytes)} disk, ${limits.processes} processes`,
              ],
              ['Made', <Ago key="made" time={sandbox.created_at} />],
              ['Ready after', sandbox.ready_at && formatMs(Date.parse(sandbox.ready_at) - Date.parse(sandbox.created_at))],
              [
                'Ends',
                sandbox.ended_at
                  ? `ended ${formatTime(sandbox.ended_at)}`
                  : sandbox.expires_at && `${formatTime(sandbox.expires_at)}, then ${sandbox.on_expiry}`,
              ],
              ['When idle', sandbox.idle_ms === null ? sandbox.on_idle : `${sandbox.on_idle} after ${formatMs(sandbox.idle_ms)}`],
              ...(sandbox.origin ? ([['Began with', <Origin key="origin" of={sandbox.origin} />]] as const) : []),
              ...(Object.keys(sandbox.labels).length > 0 ? ([['Labels', <Labels key="labels" of={sandbox.labels} />]] as const) : []),
            ]}
          />
        </div>
      </Card>
      <Card title="Why this provider">
        <div className="inside stack">
          <RouteList route={sandbox.route} />
          <RouteNow template={sandbox.template} />
        </div>
      </Card>
      <NetworkCard sandbox={sandbox} changeable={lives && may('sandboxes:use')} reload={reload} />
      <Card title="In a shell">
        <div className="inside stack">
          <CommandLine text={`skillbox sandbox shell ${sandbox.id}`} />
          <CommandLine text={`skillbox sandbox exec ${sandbox.id} -- ls -la`} />
          <CommandLine text={`skillbox sandbox cp ./src ${sandbox.id}:src`} />
        </div>
      </Card>
    </div>
  );
}

function Origin({ of: { sandbox, snapshot } }: { readonly of: NonNullable<Sandbox['origin']> }) {
  return (
    <>
      {snapshot ? (
        <>
          snapshot <code>{snapshot}</code> of{' '}
        </>
      ) : (
        'a fork of '
      )}
      <Link to={`/sandboxes/${sandbox}`} className="mono">
        {sandbox}
      </Link>
    </>
  );
}

/** It may differ from what was: machines fill up, prices change. */
function RouteNow({ template }: { readonly template: string }) {
  const { client, tenant } = useBox();
  const [asked, setAsked] = useState(false);
  const now = useLoad(`${tenant} ${template} ${asked}`, async (signal) => (asked ? client.templates.explain(template, { signal }) : null));
  if (!asked)
    return (
      <div>
        <Button kind="quiet" icon="search" onClick={() => setAsked(true)}>
          And one made now?
        </Button>
      </div>
    );
  return (
    <div className="field">
      <span className="label">One made now</span>
      {now.data ? (
        <RouteList route={now.data.route} />
      ) : now.failure ? (
        <FailureNote failure={now.failure} />
      ) : (
        <span className="hint">…</span>
      )}
    </div>
  );
}

function NetworkCard({ sandbox, changeable, reload }: { readonly sandbox: Sandbox; readonly changeable: boolean; reload(): void }) {
  const [open, setOpen] = useState(false);
  const text = { none: 'It reaches nothing.', allow: 'It reaches only these, through the box:', full: 'It reaches everything.' }[
    sandbox.network
  ];
  return (
    <Card
      title="Network"
      actions={
        changeable && (
          <Button kind="quiet" icon="edit" onClick={() => setOpen(true)}>
            Change
          </Button>
        )
      }
    >
      <div className="inside stack">
        <p>{text}</p>
        {sandbox.network_allow.length > 0 && (
          <ul className="rules">
            {sandbox.network_allow.map((rule) => (
              <li key={JSON.stringify(rule)} className="mono">
                {ruleText(rule)}
              </li>
            ))}
          </ul>
        )}
      </div>
      {open && <NetworkDialog sandbox={sandbox} onClose={() => setOpen(false)} reload={reload} />}
    </Card>
  );
}

function NetworkDialog({ sandbox, onClose, reload }: { readonly sandbox: Sandbox; onClose(): void; reload(): void }) {
  const { client } = useBox();
  const kept = sandbox.network_allow.filter((rule) => typeof rule !== 'string');
  const [wish, setWish] = useState<NetworkWish>({
    mode: sandbox.network === 'allow' ? 'allow' : 'none',
    allow: sandbox.network_allow.filter((rule) => typeof rule === 'string').join('\n'),
  });
  const set = useAct(async () => {
    await client.sandbox(sandbox.id).setNetwork(wish.mode === 'template' ? {} : networkFrom(wish, kept));
    say('Holds from the next request on.');
    reload();
    onClose();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void set.run();
  };
  return (
    <Dialog title="What it reaches" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <NetworkFields wish={wish} onChange={setWish} mayOpen templateSays={sandbox.template} />
        {wish.mode === 'allow' && kept.length > 0 && <p className="faint">These stay too: {kept.map(ruleText).join(', ')}</p>}
        <p className="faint">What is under way and no longer allowed is cut.</p>
        <FailureNote failure={set.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={set.busy}>
            Set
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function ruleText(rule: EgressRule): string {
  if (typeof rule === 'string') return rule;
  const more = [rule.ports?.map((port) => `:${port}`).join(' '), rule.methods?.join(' '), rule.paths?.join(' ')].filter(Boolean);
  return [rule.host, ...more].join(' ');
}
