/** What this host has and lacks, and the line that mends each. */

import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CheckList } from '../../parts/check-list.tsx';
import { Card } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';

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
        {({ checks }) => <CheckList checks={checks} />}
      </Show>
    </Card>
  );
}
