/** The packages that a skill declares: whether they are there, what the installer said, and once more. */

import type { Skill } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/copy.tsx';
import { formatBytes, formatCount } from '../../parts/format.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';

export function Dependencies({ skill, onChanged }: { readonly skill: Skill; onChanged(): void }) {
  const { client, may } = useBox();
  const of = skill.dependencies;
  const log = useLoad(
    `${skill.digest} ${of?.state}`,
    async (signal) => {
      const text = await client.skills.buildLog(skill.name, skill.version, { signal });
      if (of?.state === 'building') onChanged();
      return text;
    },
    of?.state === 'building' ? { every: 2000 } : {},
  );
  const build = useAct(async () => {
    await client.skills.build(skill.name, skill.version);
    onChanged();
  });
  if (!of) return null;
  const again = may('skills:write') && of.state !== 'available' && (
    <Button icon="refresh" busy={build.busy || of.state === 'building'} onClick={() => void build.run()}>
      Install {of.state === 'failed' ? 'again' : 'now'}
    </Button>
  );
  return (
    <div className="beside">
      <Card title="What the installer said">
        <div className="inside">
          <Show of={log}>{(text) => (text === '' ? <Empty small title="Nothing yet" /> : <CodeBlock text={text} />)}</Show>
        </div>
      </Card>
      <Card title="Dependencies" actions={again}>
        <div className="inside stack">
          <Facts
            of={[
              ['State', <Badge key="state" text={of.state} />],
              ['Kind', of.kind],
              ['Why', of.error],
              ['Size', of.size_bytes === null ? null : formatBytes(of.size_bytes)],
              ['Files', of.files === null ? null : formatCount(of.files)],
              ['Finished', of.finished_at && <Ago key="finished" time={of.finished_at} />],
            ]}
          />
          <FailureNote failure={build.failure} />
        </div>
      </Card>
    </div>
  );
}
