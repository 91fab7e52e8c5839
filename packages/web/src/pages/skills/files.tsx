/** The files of a version, as they were pushed. */

import type { Skill } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/copy.tsx';
import { saveBytes } from '../../parts/download.ts';
import { formatBytes } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { useQuery } from '../../router.tsx';
import { textOf } from './text-of.ts';

export function SkillFiles({ skill }: { readonly skill: Skill }) {
  const [query, change] = useQuery();
  const path = query.get('file');
  const shown = skill.files.find((file) => file.path === path) ?? skill.files.find((file) => file.path === 'SKILL.md');
  return (
    <div className="beside narrow-first">
      <Card title={`${skill.files.length} ${skill.files.length === 1 ? 'file' : 'files'}`}>
        <ul className="choices" aria-label="Files">
          {skill.files.map((file) => (
            <li key={file.path}>
              <button type="button" aria-pressed={file === shown} onClick={() => change({ file: file.path })}>
                <span className="mono">{file.path}</span> <span className="faint">{formatBytes(file.size)}</span>
              </button>
            </li>
          ))}
        </ul>
      </Card>
      {shown && <Content key={shown.path} skill={skill} path={shown.path} />}
    </div>
  );
}

function Content({ skill, path }: { readonly skill: Skill; readonly path: string }) {
  const { client } = useBox();
  const file = useLoad(`${skill.digest} ${path}`, (signal) => client.skills.file(skill.name, skill.version, path, { signal }));
  const bytes = file.data;
  const save = bytes && (
    <Button kind="quiet" icon="download" label={`Download ${path}`} onClick={() => saveBytes(path.split('/').at(-1) ?? 'file', bytes)} />
  );
  return (
    <Card title={path} actions={save}>
      <div className="inside">
        <Show of={file}>
          {(content) => {
            const text = textOf(content);
            return text === undefined ? <Empty small title="Not a text, or too long to show" icon="file" /> : <CodeBlock text={text} />;
          }}
        </Show>
      </div>
    </Card>
  );
}
