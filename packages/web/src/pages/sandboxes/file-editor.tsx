/** A text file, to read and to change. What somebody else changed meanwhile is not written over without a word. */

import type { FileEntry, SandboxHandle } from '@skillbox/sdk';
import { type KeyboardEvent, useEffect, useState } from 'react';
import { failureOf } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { formatBytes } from '../../parts/format.ts';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { complain, say } from '../../parts/toasts.tsx';
import { download } from './download.ts';
import { nameOf } from './paths.ts';
import { plainName } from './plain-name.ts';

/** A field of a page is no place for more. */
const largest = 1024 * 1024;

interface Props {
  readonly files: SandboxHandle['files'];
  readonly path: string;
  readonly writable: boolean;
  onClose(): void;
}

type Read =
  | { readonly kind: 'text'; readonly text: string; readonly entry: FileEntry }
  | { readonly kind: 'bytes' | 'large'; readonly entry: FileEntry };

export function FileEditor({ files, path, writable, onClose }: Props) {
  const read = useLoad(path, (signal) => readFile(files, path, signal));
  const fetch = (): void =>
    void download(files, path).catch((error: unknown) => {
      noteFailure(error);
      complain(failureOf(error));
    });
  return (
    <Show of={read}>
      {(data) =>
        data.kind === 'text' ? (
          <Editor
            key={data.entry.modified_at}
            files={files}
            path={path}
            read={data}
            writable={writable}
            onClose={onClose}
            onDownload={fetch}
            reload={read.reload}
          />
        ) : (
          <>
            <div className="files-bar">
              <Head path={path} onClose={onClose} />
            </div>
            <Empty
              title={data.kind === 'large' ? `${formatBytes(data.entry.size)}: too large to edit here` : 'This is not text'}
              icon="file"
            >
              <Button icon="download" onClick={fetch}>
                Download
              </Button>
            </Empty>
          </>
        )
      }
    </Show>
  );
}

async function readFile(files: SandboxHandle['files'], path: string, signal: AbortSignal): Promise<Read> {
  const entry = await files.stat(path, { signal });
  if (entry.size > largest) return { kind: 'large', entry };
  // What /proc shows has no size, and some of it no end.
  const bytes = await files.read(path, { limit: largest }, { signal });
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? { kind: 'bytes', entry } : { kind: 'text', text, entry };
  } catch {
    // Not UTF-8: what would be saved is not what was there.
    return { kind: 'bytes', entry };
  }
}

interface EditorProps extends Props {
  readonly read: Extract<Read, { kind: 'text' }>;
  onDownload(): void;
  reload(): void;
}

function Editor({ files, path, read, writable, onClose, onDownload, reload }: EditorProps) {
  // A text field knows only one end of a line: what has the other gets it back.
  const windows = read.text.includes('\r\n') && !/(^|[^\r])\n/.test(read.text);
  const [text, setText] = useState(() => read.text.replaceAll('\r\n', '\n'));
  const [saved, setSaved] = useState({ text, modified: read.entry.modified_at });
  const [asked, setAsked] = useState<'leave' | 'overwrite'>();
  const changed = text !== saved.text;

  const save = useAct(async (regardless: boolean) => {
    const now = regardless ? undefined : await files.stat(path);
    if (now && now.modified_at !== saved.modified) return setAsked('overwrite');
    const entry = await files.write(path, windows ? text.replaceAll('\n', '\r\n') : text, modeOf(read.entry));
    setSaved({ text, modified: entry.modified_at });
    setAsked(undefined);
    say('Saved.');
  });
  useEffect(() => {
    if (!changed) return;
    const stay = (event: Event): void => event.preventDefault();
    window.addEventListener('beforeunload', stay);
    return () => window.removeEventListener('beforeunload', stay);
  }, [changed]);
  const keys = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 's') return;
    event.preventDefault();
    if (changed && writable) void save.run(false);
  };

  return (
    <div className="editor">
      <div className="files-bar">
        <Head path={path} onClose={() => (changed ? setAsked('leave') : onClose())} />
        <div className="filters">
          <span className="faint">{changed ? 'changed' : formatBytes(read.entry.size)}</span>
          <Button icon="download" label="Download" onClick={onDownload} />
          {writable && (
            <Button kind="main" busy={save.busy} disabled={!changed} label="Ctrl S" onClick={() => void save.run(false)}>
              Save
            </Button>
          )}
        </div>
      </div>
      <FailureNote failure={save.failure} />
      <textarea
        className="code"
        aria-label={`Content of ${plainName(nameOf(path))}`}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        readOnly={!writable}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={keys}
      />
      {asked === 'leave' && (
        <Confirm title="Leave without saving?" verb="Leave" onClose={() => setAsked(undefined)} onConfirm={onClose}>
          <p>What you changed is lost.</p>
        </Confirm>
      )}
      {asked === 'overwrite' && (
        <Confirm
          title="It was changed meanwhile"
          verb="Write over it"
          busy={save.busy}
          onClose={() => setAsked(undefined)}
          onConfirm={() => void save.run(true)}
        >
          <p>Something else wrote to this file since you opened it.</p>
          <p>
            <Button icon="refresh" onClick={reload}>
              Load what is there now
            </Button>
          </p>
        </Confirm>
      )}
    </div>
  );
}

function Head({ path, onClose }: { readonly path: string; onClose(): void }) {
  return (
    <div className="editor-head">
      <Button kind="quiet" icon="up" label="Back to the folder" onClick={onClose} />
      <code className="any-name">{plainName(path)}</code>
    </div>
  );
}

/** Kept as it was; that of a link says nothing about the file. */
const modeOf = ({ kind, mode }: FileEntry): { mode?: string } =>
  kind === 'file' ? { mode: (mode & 0o777).toString(8).padStart(3, '0') } : {};
