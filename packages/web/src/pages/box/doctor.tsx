/** The machine and the graph: what is not as declared, and the line that mends each. */

import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CheckList } from '../../parts/check-list.tsx';
import { Card } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';
import { SelectionFields, useSelection } from './selection.tsx';

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
          {({ checks }) => <CheckList checks={checks} />}
        </Show>
      </Card>
    </>
  );
}
