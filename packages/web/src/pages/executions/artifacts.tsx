/** Files that an execution left: looked at where that is safe and sensible, downloaded otherwise. */

import type { Artifact, ExecutionResult } from '@skillbox/sdk';
import { useEffect, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { saveBytes } from '../../parts/download.ts';
import { formatBytes } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Preview } from '../../parts/preview.tsx';
import { FailureNote, Show } from '../../parts/states.tsx';
import { useQuery } from '../../router.tsx';

const mostBytes = 8 * 1024 * 1024;

export function Artifacts({ record }: { readonly record: ExecutionResult }) {
  const { client } = useBox();
  const [query, change] = useQuery();
  const chosen = record.files_list.find(({ path }) => path === query.get('file')) ?? record.files_list[0];
  const all = useAct(async () => saveBytes(`${record.execution_id}.tar.gz`, await client.executions.archive(record.execution_id)));
  return (
    <div className="artifacts">
      <div className="names">
        {record.files_list.map((file) => (
          <button key={file.path} type="button" aria-pressed={file === chosen} onClick={() => change({ file: file.path })}>
            <Icon name="file" />
            {file.path}
            <small>{formatBytes(file.size)}</small>
          </button>
        ))}
        <Button kind="quiet" icon="download" busy={all.busy} onClick={() => void all.run()}>
          All as tar.gz
        </Button>
        <FailureNote failure={all.failure} />
      </div>
      {chosen && <File key={chosen.path} id={record.execution_id} file={chosen} />}
    </div>
  );
}

function File({ id, file }: { readonly id: string; readonly file: Artifact }) {
  const { client } = useBox();
  const [wanted, setWanted] = useState(file.size <= mostBytes);
  const save = useAct(async () => saveBytes(file.path.split('/').at(-1) ?? 'file', await client.executions.file(id, file.path)));
  useEffect(() => setWanted(file.size <= mostBytes), [file]);
  return (
    <section className="preview" aria-label={`Preview of ${file.path}`}>
      <header>
        <span className="mono">{file.path}</span>
        <Button icon="download" busy={save.busy} onClick={() => void save.run()}>
          Download
        </Button>
      </header>
      <FailureNote failure={save.failure} />
      {wanted ? (
        <Contents id={id} file={file} />
      ) : (
        <div className="state small">
          <p>{formatBytes(file.size)} is much for a look.</p>
          <Button onClick={() => setWanted(true)}>Show it all the same</Button>
        </div>
      )}
    </section>
  );
}

function Contents({ id, file }: { readonly id: string; readonly file: Artifact }) {
  const { client } = useBox();
  const loaded = useLoad(`${id} ${file.path}`, (signal) => client.executions.file(id, file.path, { signal }));
  return <Show of={loaded}>{(bytes) => <Preview name={file.path} bytes={bytes} />}</Show>;
}
