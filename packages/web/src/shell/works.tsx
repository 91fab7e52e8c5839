/** What is under way, on every page: one line for each, which opens into the whole. */

import { lazy, Suspense, useState } from 'react';
import { forgetWork, useWorks, type Work } from '../box/works.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { useElapsed } from '../parts/use-seconds.ts';

const WorkDialog = lazy(() => import('../pages/box/work-dialog.tsx'));

export function Works() {
  const works = useWorks();
  const [open, setOpen] = useState<number>();
  return (
    <>
      {works.length > 0 && (
        <section className="works" aria-label="Under way">
          {works.map((work) => (
            <Line key={work.id} work={work} onOpen={() => setOpen(work.id)} />
          ))}
        </section>
      )}
      {open !== undefined && (
        <Suspense>
          <WorkDialog key={open} id={open} onClose={() => setOpen(undefined)} />
        </Suspense>
      )}
    </>
  );
}

function Line({ work, onOpen }: { readonly work: Work; onOpen(): void }) {
  const { id, title, since, until, line, failure, report } = work;
  const ms = useElapsed(since, until);
  const bad = failure !== undefined || (report as { ok?: boolean } | undefined)?.ok === false;
  const state = until === undefined ? 'running' : bad ? 'failed' : 'done';
  const said = state === 'running' ? line : failure ? failure.message : bad ? 'Not all went well.' : 'Done.';
  return (
    <div className={`work ${state}`}>
      <button type="button" className="work-open" onClick={onOpen}>
        {state === 'running' ? <span className="spinner" aria-hidden="true" /> : <Icon name={bad ? 'warning' : 'check'} />}
        <strong>{title}</strong>
        <span className="said">{said}</span>
        <span className="faint">{Math.floor(ms / 1000)} s</span>
      </button>
      {until !== undefined && <Button kind="quiet" icon="close" label={`Put ${title} away`} onClick={() => forgetWork(id)} />}
    </div>
  );
}
