/** The machine and the graph: what is not as declared, and the line that mends each. */

import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { Card } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { SelectionFields, useSelection } from './selection.tsx';

const tones = { ok: 'good', warn: 'warn', fail: 'bad' } as const;
const rank = { fail: 0, warn: 1, ok: 2 } as const;

export function Doctor() {
  const { client } = useBox();
  const selection = useSelection();
  const found = useLoad(`doctor ${JSON.stringify(selection)}`, (signal) => client.runtime.doctor(selection, { signal }));
  const model = useLoad('describe', (signal) => client.runtime.describe({ signal }));
  const failed = found.data?.checks.filter(({ state }) => state === 'fail').length ?? 0;
  const title = !found.data
    ? 'Looking at the box'
    : found.data.healthy
      ? 'All can work'
      : `${failed} of ${found.data.checks.length} checks failed`;
  return (
    <>
      <SelectionFields clients={model.data?.clients ?? []} profiles={model.data?.profiles ?? []} />
      <Card
        title={title}
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
                .map(({ name, code, state, detail, fix }) => (
                  <li key={`${name} ${code} ${detail}`}>
                    <Badge text={state} tone={tones[state]} />
                    <strong>{name}</strong>
                    <span className="wrap">{detail}</span>
                    {code && <code className="faint">{code}</code>}
                    {fix && <CommandLine text={fix} />}
                  </li>
                ))}
            </ul>
          )}
        </Show>
      </Card>
    </>
  );
}
