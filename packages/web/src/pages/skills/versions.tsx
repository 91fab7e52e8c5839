/** The versions of a skill, and what changed between two of them, file by file. */

import type { Client, Skill, SkillSummary } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link, useQuery } from '../../router.tsx';
import { type DiffLine, diffLines, excerpts } from './line-diff.ts';
import { textOf } from './text-of.ts';

export function Versions({ name, all }: { readonly name: string; readonly all: readonly SkillSummary[] }) {
  const [query, change] = useQuery();
  const known = (version: string | null): string | undefined => all.find((each) => each.version === version)?.version;
  const to = known(query.get('to')) ?? all[0]?.version;
  const from = known(query.get('from')) ?? all[1]?.version;
  const choice = (which: 'from' | 'to', value: string | undefined) => (
    <select
      className="input"
      aria-label={which === 'from' ? 'Compare' : 'With'}
      value={value}
      onChange={({ target }) => change({ [which]: target.value })}
    >
      {all.map(({ version }) => (
        <option key={version} value={version}>
          {version}
        </option>
      ))}
    </select>
  );
  return (
    <div className="stack">
      <Card title="Versions">
        <div className="scroll-x">
          <table className="table">
            <thead>
              <tr>
                <th>Version</th>
                <th>
                  <span className="visually-hidden">State</span>
                </th>
                <th>Description</th>
                <th>Pushed</th>
              </tr>
            </thead>
            <tbody>
              {all.map(({ version, description, created_at }, at) => (
                <tr key={version}>
                  <td className="mono">
                    <Link to={`/skills/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`}>{version}</Link>
                  </td>
                  <td>{at === 0 && <Badge text="latest" tone="good" />}</td>
                  <td>{description}</td>
                  <td className="nowrap">
                    <Ago time={created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
      {from === undefined || to === undefined ? (
        <Empty small title="With a second version, the two can be compared here" command={`skillbox skill push ./${name}`} />
      ) : (
        <>
          <div className="filters">
            Compare {choice('from', from)} with {choice('to', to)}
          </div>
          <Comparison name={name} from={from} to={to} />
        </>
      )}
    </div>
  );
}

interface Change {
  readonly path: string;
  readonly kind: 'changed' | 'new' | 'gone';
  /** Undefined: not a text. */
  readonly lines: readonly DiffLine[] | undefined;
}

function Comparison({ name, from, to }: { readonly name: string; readonly from: string; readonly to: string }) {
  const { client, tenant } = useBox();
  const changes = useLoad(`${tenant} ${name} ${from} ${to}`, (signal) => compare(client, name, from, to, signal));
  return (
    <Show of={changes}>
      {(found) =>
        found.length === 0 ? (
          <Empty small title={from === to ? 'These are the same version' : 'Their files are the same'} icon="check" />
        ) : (
          found.map((each) => <FileChange key={each.path} of={each} />)
        )
      }
    </Show>
  );
}

/** Files of the same size may still differ: all that both have are read. */
async function compare(client: Client, name: string, from: string, to: string, signal: AbortSignal): Promise<Change[]> {
  if (from === to) return [];
  const [one, other] = await Promise.all([client.skills.get(name, from, { signal }), client.skills.get(name, to, { signal })]);
  if (one.digest === other.digest) return [];
  const paths = [...new Set([...one.files, ...other.files].map(({ path }) => path))].sort(skillFirst);
  const changes: Change[] = [];
  for (const path of paths) {
    const [before, after] = await Promise.all([read(client, one, path, signal), read(client, other, path, signal)]);
    if (before && after && sameBytes(before, after)) continue;
    const texts = [before, after].map((bytes) => (bytes ? textOf(bytes) : ''));
    const [was, is] = texts;
    changes.push({
      path,
      kind: before ? (after ? 'changed' : 'gone') : 'new',
      lines: was === undefined || is === undefined ? undefined : diffLines(was, is),
    });
  }
  return changes;
}

const skillFirst = (one: string, other: string): number =>
  Number(other === 'SKILL.md') - Number(one === 'SKILL.md') || (one < other ? -1 : 1);

const read = async (client: Client, skill: Skill, path: string, signal: AbortSignal): Promise<Uint8Array | undefined> =>
  skill.files.some((file) => file.path === path) ? client.skills.file(skill.name, skill.version, path, { signal }) : undefined;

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

const signs = { same: ' ', gone: '−', new: '+' } as const;
const mostShown = 2000;

function FileChange({ of: { path, kind, lines } }: { readonly of: Change }) {
  const [whole, setWhole] = useState(false);
  const shown = lines && (whole ? lines : excerpts(lines)).slice(0, mostShown);
  const count = (which: DiffLine['kind']): number => lines?.filter((line) => line.kind === which).length ?? 0;
  return (
    <Card
      title={path}
      actions={
        <>
          {kind !== 'changed' && <Badge text={kind} tone={kind === 'new' ? 'good' : 'bad'} />}
          {lines && (
            <span className="faint">
              +{count('new')} −{count('gone')}
            </span>
          )}
          {lines && kind === 'changed' && (
            <Button kind="quiet" onClick={() => setWhole(!whole)}>
              {whole ? 'Changes only' : 'Whole file'}
            </Button>
          )}
        </>
      }
    >
      {shown ? (
        <div className="diff" tabIndex={0} role="group" aria-label={`Changes of ${path}`}>
          {shown.map((line, at) =>
            line === null ? (
              <div key={at} className="gap">
                ⋯
              </div>
            ) : (
              <div key={at} className={line.kind}>
                <span className="number">{line.before ?? ''}</span>
                <span className="number">{line.after ?? ''}</span>
                <span className="sign">{signs[line.kind]}</span>
                <span>{line.text}</span>
              </div>
            ),
          )}
        </div>
      ) : (
        <Empty small title="Not a text, or too long to show" icon="file" />
      )}
    </Card>
  );
}
