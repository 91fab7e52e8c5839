/** All skills, found by words, with how they did of late; and the place where new ones come in. */

import type { ExecutionFigures, SkillSummary } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { useMore } from '../../box/use-more.ts';
import { Badge } from '../../parts/badge.tsx';
import { formatCount, formatMs } from '../../parts/format.ts';
import { More } from '../../parts/more.tsx';
import { Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link, useQuery } from '../../router.tsx';
import { PushArea } from './push.tsx';
import './skills.css';

const pageSize = 100;

export default function Catalogue() {
  const { client, tenant, may } = useBox();
  const [query, change] = useQuery();
  const words = query.get('q') ?? '';
  const skills = useMore(`${tenant} ${words}`, (cursor, signal) =>
    words === ''
      ? client.skills.list({ limit: pageSize, ...(cursor !== undefined && { cursor }) }, { signal })
      : client.skills.search(words.slice(0, 200), { limit: pageSize }, { signal }),
  );
  const figures = useLoad(`${tenant} figures`, async (signal) =>
    may('executions:read') ? client.executions.figures({ window: '24h' }, { signal }) : null,
  );
  useOnEvents(({ type }) => type.startsWith('skill.'), skills.reload);

  const body = (
    <Show of={skills}>
      {(items) =>
        items.length === 0 ? (
          <Nothing words={words} />
        ) : (
          <>
            <List items={items} figures={figures.data ?? undefined} />
            <More of={skills} title="More skills" />
          </>
        )
      }
    </Show>
  );
  return (
    <Page title="Skills" actions={<SearchField label="Find skills" value={words} onChange={(q) => change({ q })} />}>
      {may('skills:write') ? <PushArea onPushed={skills.reload}>{body}</PushArea> : body}
    </Page>
  );
}

function Nothing({ words }: { readonly words: string }) {
  if (words !== '')
    return <Empty title="No skill has these words" icon="search" command={`skillbox skill search ${JSON.stringify(words)}`} />;
  return (
    <Empty title="There are no skills yet" icon="book" command="skillbox skill init my-skill && skillbox skill push ./my-skill">
      <p>A skill is a folder with SKILL.md: instructions, and perhaps a program that runs in a sandbox.</p>
    </Empty>
  );
}

function List({ items, figures }: { readonly items: readonly SkillSummary[]; readonly figures: ExecutionFigures | undefined }) {
  const use = new Map(figures?.skills.map((each) => [each.skill, each]));
  return (
    <ul className="skill-list" aria-label="Skills">
      {items.map(({ name, version, description, mode, lang, created_at, dependencies }) => {
        const of = use.get(name);
        return (
          <li key={name}>
            <Link to={`/skills/${encodeURIComponent(name)}`}>
              <span className="head">
                <strong>{name}</strong> <span className="faint mono">{version}</span>
                <Badge text={mode === 'cognitive' ? 'instructions' : (lang ?? mode)} tone="plain" />
                {dependencies && dependencies.state !== 'available' && (
                  <Badge text={`dependencies ${dependencies.state}`} tone={dependencies.state === 'failed' ? 'bad' : 'busy'} />
                )}
              </span>
              <span className="description">{description}</span>
              <span className="figures faint">
                {of ? (
                  <>
                    <span>
                      {formatCount(of.runs)} {of.runs === 1 ? 'run' : 'runs'} in 24 h
                    </span>
                    {of.failed > 0 && <span className="bad">{formatCount(of.failed)} failed</span>}
                    {of.total && (
                      <span>
                        p50 {formatMs(of.total.p50)}, p95 {formatMs(of.total.p95)}
                      </span>
                    )}
                  </>
                ) : (
                  figures && mode === 'executable' && <span>not run in 24 h</span>
                )}
                <span>
                  pushed <Ago time={created_at} />
                </span>
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
