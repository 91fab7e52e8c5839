/** Where its disk came from and what came of it: snapshots and forks as a tree. */

import type { Client, Sandbox, Snapshot } from '@skillbox/sdk';
import { type ReactNode, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link, navigate } from '../../router.tsx';
import { ForkDialog, SnapshotDialog } from './disk-dialogs.tsx';
import { familyOf, type Member } from './family.ts';

const most = 2000;

type Asked = { readonly what: 'snapshot' | 'fork' } | { readonly what: 'restore' | 'remove'; readonly snapshot: Snapshot };

export function DisksTab({ sandbox, reload }: { readonly sandbox: Sandbox; reload(): void }) {
  const { client, tenant, may } = useBox();
  const [asked, setAsked] = useState<Asked>();
  const family = useLoad(`${tenant} ${sandbox.id} disks`, (signal) => loadFamily(client, sandbox, signal));
  useOnEvents(({ subject }) => subject.type === 'sandbox', family.reload);
  const usable = may('sandboxes:use') && (sandbox.state === 'ready' || sandbox.state === 'paused');
  const close = (): void => setAsked(undefined);

  const act = useAct(async (work: Promise<unknown>, done: string) => {
    await work;
    say(done);
    close();
    family.reload();
    reload();
  });
  return (
    <div className="disks">
      {usable && (
        <div className="filters">
          <Button icon="copy" onClick={() => setAsked({ what: 'snapshot' })}>
            Take a snapshot
          </Button>
          <Button icon="branch" onClick={() => setAsked({ what: 'fork' })}>
            Fork
          </Button>
        </div>
      )}
      <Show of={family}>
        {(root) => (
          <>
            <ul className="family">
              <Branch
                member={root}
                own={sandbox.id}
                actions={(snapshot) => may('sandboxes:use') && <SnapshotActions snapshot={snapshot} usable={usable} onAsk={setAsked} />}
              />
            </ul>
            {root.children.length === 0 && <p className="faint">No snapshot was taken of it, and nothing was forked from it.</p>}
          </>
        )}
      </Show>
      {asked?.what === 'snapshot' && <SnapshotDialog id={sandbox.id} onClose={close} onDone={family.reload} />}
      {asked?.what === 'fork' && <ForkDialog id={sandbox.id} onClose={close} onDone={family.reload} />}
      {asked?.what === 'restore' && (
        <Confirm
          title="Put this snapshot back?"
          verb="Restore"
          busy={act.busy}
          onClose={close}
          onConfirm={() => void act.run(client.sandbox(sandbox.id).restore(asked.snapshot.id, { timeoutMs: 0 }), 'Restored.')}
        >
          <p>
            The sandbox gets the disk of <Named snapshot={asked.snapshot} />. What runs in it ends, and what is on its disk now is lost.
          </p>
          <FailureNote failure={act.failure} />
        </Confirm>
      )}
      {asked?.what === 'remove' && (
        <Confirm
          title="Remove this snapshot?"
          verb="Remove"
          busy={act.busy}
          onClose={close}
          onConfirm={() => void act.run(client.sandboxes.deleteSnapshot(asked.snapshot.id), 'Removed.')}
        >
          <p>
            <Named snapshot={asked.snapshot} /> can then not be used any more. Sandboxes that began with it keep what they have.
          </p>
          <FailureNote failure={act.failure} />
        </Confirm>
      )}
    </div>
  );
}

async function loadFamily(client: Client, sandbox: Sandbox, signal: AbortSignal): Promise<Member> {
  const take = async <T,>(items: AsyncIterable<T>): Promise<T[]> => {
    const all: T[] = [];
    for await (const item of items) {
      all.push(item);
      if (all.length >= most) break;
    }
    return all;
  };
  const snapshots: Snapshot[] = [];
  const [sandboxes] = await Promise.all([
    take(client.sandboxes.all({ limit: 500 }, { signal })),
    (async () => {
      for (let cursor: string | undefined, more = true; more && snapshots.length < most; ) {
        const page = await client.sandboxes.snapshots({ limit: 500, ...(cursor !== undefined && { cursor }) }, { signal });
        snapshots.push(...page.items);
        more = page.next_cursor !== null;
        cursor = page.next_cursor ?? undefined;
      }
    })(),
  ]);
  // One that is older than all these is there all the same.
  const all = sandboxes.some(({ id }) => id === sandbox.id) ? sandboxes : [...sandboxes, sandbox];
  return familyOf(sandbox.id, all, snapshots);
}

function Branch({ member, own, actions }: { readonly member: Member; readonly own: string; actions(snapshot: Snapshot): ReactNode }) {
  return (
    <li>
      <div className={member.id === own ? 'member own' : 'member'}>
        <Icon name={member.kind === 'sandbox' ? 'box' : 'copy'} />
        {member.kind === 'sandbox' ? <SandboxLine member={member} own={own} /> : <SnapshotLine member={member} />}
        {member.kind === 'snapshot' && member.record && <span className="member-actions">{actions(member.record)}</span>}
      </div>
      {member.children.length > 0 && (
        <ul>
          {member.children.map((child) => (
            <Branch key={child.id} member={child} own={own} actions={actions} />
          ))}
        </ul>
      )}
    </li>
  );
}

function SandboxLine({ member: { id, record }, own }: { readonly member: Extract<Member, { kind: 'sandbox' }>; readonly own: string }) {
  return (
    <>
      {id === own ? (
        <strong className="mono">{id}</strong>
      ) : (
        <Link to={`/sandboxes/${id}?tab=disks`} className="mono">
          {id}
        </Link>
      )}
      {record ? <Badge text={record.state} /> : <span className="faint">no longer known</span>}
      {record?.origin && record.origin.snapshot === null && <span className="faint">fork</span>}
      {record && (
        <span className="faint">
          <Ago time={record.created_at} />
        </span>
      )}
    </>
  );
}

function SnapshotLine({ member: { id, record } }: { readonly member: Extract<Member, { kind: 'snapshot' }> }) {
  if (!record) return <span className="faint mono">{id} (removed)</span>;
  return (
    <>
      <Named snapshot={record} />
      <span className="faint">
        snapshot, <Ago time={record.created_at} />
      </span>
    </>
  );
}

const Named = ({ snapshot: { id, name } }: { readonly snapshot: Snapshot }) =>
  name ? <strong title={id}>{name}</strong> : <code>{id}</code>;

interface ActionProps {
  readonly snapshot: Snapshot;
  readonly usable: boolean;
  onAsk(asked: Asked): void;
}

function SnapshotActions({ snapshot, usable, onAsk }: ActionProps) {
  const called = snapshot.name ?? snapshot.id;
  return (
    <>
      <Button
        kind="quiet"
        icon="plus"
        label={`New sandbox from ${called}`}
        onClick={() => navigate(`/sandboxes?new=yes&snapshot=${snapshot.id}`)}
      />
      {usable && (
        <Button
          kind="quiet"
          icon="refresh"
          label={`Restore ${called} into this sandbox`}
          onClick={() => onAsk({ what: 'restore', snapshot })}
        />
      )}
      <Button kind="quiet" icon="trash" label={`Remove ${called}`} onClick={() => onAsk({ what: 'remove', snapshot })} />
    </>
  );
}
