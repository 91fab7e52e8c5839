/** One skill in one of its versions: what it says, what it takes, how it does, and a way to try it. */

import type { Skill, SkillSummary } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { CodeBlock } from '../../parts/copy.tsx';
import { ConfirmAct } from '../../parts/dialog.tsx';
import { formatBytes, formatMs } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Card, Facts, Page } from '../../parts/page.tsx';
import { Empty, FailureState, Loading } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link, navigate, useQuery } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { Dependencies } from './dependencies.tsx';
import { SkillFiles } from './files.tsx';
import { TryIt } from './try-it.tsx';
import { Usage } from './usage.tsx';
import { Versions } from './versions.tsx';
import './skills.css';

export default function SkillView({ params }: ViewProps) {
  const name = params.name ?? '';
  const { client, tenant, may } = useBox();
  const [query, change] = useQuery();
  const version = query.get('version') ?? 'latest';
  const skill = useLoad(`${tenant} ${name} ${version}`, (signal) => client.skills.get(name, version, { signal }));
  const versions = useLoad(`${tenant} ${name} versions`, async (signal) => (await client.skills.versions(name, { signal })).items);
  const reload = (): void => {
    skill.reload();
    versions.reload();
  };
  useOnEvents(({ type, subject }) => type.startsWith('skill.') && subject.id.startsWith(`${name}@`), reload);
  const [deleting, setDeleting] = useState(false);
  const of = skill.data;
  return (
    <Page
      title={name}
      before={
        <span className="crumb">
          <Link to="/skills">Skills</Link> /
        </span>
      }
      after={of && <Badge text={of.mode === 'cognitive' ? 'instructions' : (of.lang ?? of.mode)} tone="plain" />}
      actions={
        of && (
          <div className="filters">
            <VersionChoice all={versions.data ?? [of]} current={of.version} onChange={(to) => change({ version: to })} />
            {may('skills:write') && (
              <Menu
                icon="menu"
                label="More"
                items={[{ title: `Delete version ${of.version}`, icon: 'trash', act: () => setDeleting(true) }]}
              />
            )}
          </div>
        )
      }
    >
      {of ? (
        <Loaded skill={of} versions={versions.data ?? []} onChanged={reload} />
      ) : skill.failure?.code === 'skill_not_found' ? (
        <Empty title={skill.failure.message} icon="search" command="skillbox skill list">
          <p>
            <Link to="/skills">All skills</Link>
          </p>
        </Empty>
      ) : skill.failure ? (
        <FailureState failure={skill.failure} retry={reload} />
      ) : (
        <Loading />
      )}
      {of && deleting && <Delete skill={of} onClose={() => setDeleting(false)} last={versions.data?.length === 1} />}
    </Page>
  );
}

function Loaded({ skill, versions, onChanged }: { readonly skill: Skill; readonly versions: readonly SkillSummary[]; onChanged(): void }) {
  const { may } = useBox();
  const isProgram = skill.mode === 'executable';
  const tabs = [
    { id: 'instructions', title: 'Instructions', show: () => <Instructions skill={skill} /> },
    // One for each version: what was typed for another may not fit.
    ...(isProgram && may('executions:run') ? [{ id: 'try', title: 'Try it', show: () => <TryIt key={skill.digest} skill={skill} /> }] : []),
    { id: 'schema', title: 'Schema', show: () => <Schemas skill={skill} /> },
    { id: 'files', title: 'Files', show: () => <SkillFiles key={skill.digest} skill={skill} /> },
    { id: 'versions', title: 'Versions', show: () => <Versions name={skill.name} all={versions} /> },
    ...(isProgram && may('executions:read') ? [{ id: 'usage', title: 'Usage', show: () => <Usage skill={skill} /> }] : []),
    ...(skill.dependencies
      ? [{ id: 'dependencies', title: 'Dependencies', show: () => <Dependencies skill={skill} onChanged={onChanged} /> }]
      : []),
  ];
  return (
    <div className="skill">
      <p className="description">{skill.description}</p>
      <Tabs label="About this skill" tabs={tabs} />
    </div>
  );
}

function VersionChoice({
  all,
  current,
  onChange,
}: {
  readonly all: readonly SkillSummary[];
  readonly current: string;
  onChange(version: string | undefined): void;
}) {
  return (
    <select
      className="input"
      aria-label="Version"
      value={current}
      onChange={({ target }) => onChange(target.value === all[0]?.version ? undefined : target.value)}
    >
      {all.map(({ version }) => (
        <option key={version} value={version}>
          {version}
        </option>
      ))}
    </select>
  );
}

function Instructions({ skill }: { readonly skill: Skill }) {
  return (
    <div className="beside">
      <Card title="Instructions">
        <div className="inside">
          {skill.instructions.trim() === '' ? <Empty small title="SKILL.md has no instructions" /> : <Markdown text={skill.instructions} />}
        </div>
      </Card>
      <Card title="Facts">
        <div className="inside">
          <Facts
            of={[
              [
                'Version',
                <span className="mono" key="version">
                  {skill.version}
                </span>,
              ],
              ['Pushed', <Ago key="pushed" time={skill.created_at} />],
              ['Entrypoint', skill.entrypoint && <code key="entrypoint">{skill.entrypoint}</code>],
              ['Image', skill.image && <code key="image">{skill.image}</code>],
              ['Time limit', skill.timeout_ms === null ? null : formatMs(skill.timeout_ms)],
              ['CPU', skill.resources.cpu],
              ['Memory', skill.resources.memory_bytes === null ? null : formatBytes(skill.resources.memory_bytes)],
              ['Size', `${formatBytes(skill.size)}, ${skill.files.length} ${skill.files.length === 1 ? 'file' : 'files'}`],
              ['Licence', skill.license],
              ['Digest', <code key="digest">{skill.digest.slice(0, 16)}</code>],
            ]}
          />
        </div>
      </Card>
    </div>
  );
}

function Schemas({ skill }: { readonly skill: Skill }) {
  const { input_schema, output_schema, name, version } = skill;
  const one = (title: string, schema: Skill['input_schema']) => (
    <Card title={title}>
      <div className="inside">
        {schema ? <JsonTree value={schema} label={title} /> : <Empty small title="Any JSON: SKILL.md says nothing" />}
      </div>
    </Card>
  );
  return (
    <div className="grid-two">
      {one('Input schema', input_schema)}
      {one('Output schema', output_schema)}
      {skill.mode === 'executable' && (
        <Card title="In the shell">
          <div className="inside">
            <CodeBlock text={`skillbox run ${name} --version ${version} --input '{}'`} />
          </div>
        </Card>
      )}
    </div>
  );
}

function Delete({ skill, last, onClose }: { readonly skill: Skill; readonly last: boolean; onClose(): void }) {
  const { client } = useBox();
  const act = async () => {
    await client.skills.delete(skill.name, skill.version);
    say(`${skill.name} ${skill.version} is deleted.`);
    navigate(last ? '/skills' : `/skills/${encodeURIComponent(skill.name)}`);
    onClose();
  };
  return (
    <ConfirmAct title={`Delete ${skill.name} ${skill.version}?`} verb="Delete" act={act} onClose={onClose}>
      <p>
        {last ? 'It is the only version: the skill is gone then.' : 'Other versions stay.'} Records of its executions stay. It cannot be
        undone.
      </p>
    </ConfirmAct>
  );
}
