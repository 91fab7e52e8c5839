/** What this host has and lacks, and the line that mends each. */

import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { Card } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';

const tones = { ok: 'good', warn: 'warn', missing: 'bad' } as const;
const rank = { missing: 0, warn: 1, ok: 2 } as const;

export function Doctor() {
  const { client } = useBox();
  const found = useLoad('doctor', (signal) => client.host.doctor({ signal }));
  const missing = found.data?.checks.filter(({ state }) => state === 'missing').length ?? 0;
  return (
    <Card
      title={
        found.data
          ? missing === 0
            ? 'This host has what the box needs'
            : `${missing} of ${found.data.checks.length} checks need mending`
          : 'Looking at this host'
      }
      actions={
        <Button icon="refresh" busy={found.loading} onClick={found.reload}>
          Look again
        </Button>
      }
    >
      <Show of={found} rows={10}>
        {({ checks }) => (
          <ul className="rows" aria-label="Checks">
            {checks
              .toSorted((one, other) => rank[one.state] - rank[other.state])
              .map(({ name, state, detail, fix }) => (
                <li key={`${name} ${detail}`}>
                  <Badge text={state} tone={tones[state]} />
                  <strong>{name}</strong>
                  <span className="wrap">{detail}</span>
                  {fix && <CommandLine text={fix} />}
                </li>
              ))}
          </ul>
        )}
      </Show>
    </Card>
  );
}
