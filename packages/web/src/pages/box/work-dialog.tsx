/** One piece of work: its parts while they go on, and then what came of it. Closing it does not end it. */

import { forgetWork, useWork, type Work } from '../../box/works.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatMs } from '../../parts/format.ts';
import { FailureNote } from '../../parts/states.tsx';
import { type AnyReport, Report } from './report.tsx';
import { Timeline } from './timeline.tsx';
import './box.css';

export default function WorkDialog({ id, onClose }: { readonly id: number; onClose(): void }) {
  const work = useWork(id);
  if (!work) return null;
  const close = (): void => {
    forgetWork(id);
    onClose();
  };
  return (
    <Dialog title={work.title} onClose={close}>
      <End work={work} />
      {work.report !== undefined && isReport(work.report) ? <Report of={work.report} /> : <Timeline work={work} />}
      <FailureNote failure={work.failure} />
      <footer>
        {work.until === undefined && <span className="faint">It goes on when you close this.</span>}
        <Button kind="main" onClick={close}>
          Close
        </Button>
      </footer>
    </Dialog>
  );
}

/** In one sentence, how it ended. */
export function End({ work }: { readonly work: Work }) {
  if (work.until === undefined) return null;
  const took = formatMs(work.until - work.since);
  const ok = endedWell(work);
  return (
    <p className={`work-end ${ok ? 'good' : 'bad'}`} role="status">
      {ok ? `Done in ${took}.` : work.failure ? `It did not get to its end, after ${took}.` : `Not all went well, after ${took}.`}
    </p>
  );
}

export const endedWell = ({ failure, report }: Work): boolean => !failure && (report as { ok?: boolean } | undefined)?.ok !== false;

const isReport = (report: unknown): report is AnyReport =>
  typeof report === 'object' &&
  report !== null &&
  !('steps' in report) &&
  ('actions' in report || 'services' in report || 'tasks' in report);
