/** The files of a sandbox. Which folder and which file are looked at stands in the address. */

import type { FileEntry } from '@skillbox/sdk';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { droppedFiles, type GivenFile } from '../../parts/dropped-files.ts';
import { Empty, FailureState, Loading } from '../../parts/states.tsx';
import { complain, say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';
import { NameDialog, RemoveDialog, ReplaceDialog } from './file-dialogs.tsx';
import { FileEditor } from './file-editor.tsx';
import { FileTable } from './file-table.tsx';
import { crumbsOf, folderOf, home, joined, nameOf } from './paths.ts';
import { plainName } from './plain-name.ts';
import { upload } from './upload.ts';
import { useVisible } from './use-visible.ts';

type Asked =
  | { readonly what: 'folder' | 'file' }
  | { readonly what: 'rename' | 'remove'; readonly entry: FileEntry }
  | { readonly what: 'replace'; readonly files: readonly GivenFile[] };

export function FilesTab({ id }: { readonly id: string }) {
  const { client, tenant, may } = useBox();
  const { files } = client.sandbox(id);
  const [query, change] = useQuery();
  const folder = query.get('path') ?? home;
  const file = query.get('file') ?? undefined;
  const listed = useLoad(`${tenant} ${id} ${folder}`, (signal) => files.list(folder, {}, { signal }));
  const [asked, setAsked] = useState<Asked>();
  const [over, setOver] = useState(false);
  const [sending, setSending] = useState<string>();
  const chooser = useRef<HTMLInputElement>(null);
  const writable = may('sandboxes:use');
  useWatch(id, folder, listed.reload);

  const go = (path: string): void => change({ path: path === home ? '' : path, file: '' });
  const look = (path: string): void => change({ path: folderOf(path) === home ? '' : folderOf(path), file: path });
  const done = (text: string) => () => {
    setAsked(undefined);
    say(text);
    listed.reload();
  };

  const send = async (given: readonly GivenFile[], replace: boolean): Promise<void> => {
    if (given.length === 0) return;
    try {
      const { sent, there } = await upload(files, folder, given, {
        replace,
        known: new Set(listed.data?.map(({ path }) => nameOf(path))),
        onProgress: (at) => setSending(`${at} of ${given.length}`),
      });
      if (sent > 0) say(`Uploaded ${sent} ${sent === 1 ? 'file' : 'files'}.`);
      if (there.length > 0) setAsked({ what: 'replace', files: there });
    } catch (error) {
      noteFailure(error);
      complain(failureOf(error));
    } finally {
      setSending(undefined);
      listed.reload();
    }
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (writable) void droppedFiles(event.dataTransfer).then((given) => send(given, false));
  };

  const open = async (entry: FileEntry): Promise<void> => {
    if (entry.kind === 'directory') return go(entry.path);
    if (entry.kind !== 'symlink') return look(entry.path);
    // Where a link leads only the inside knows.
    const isFolder = await files.list(entry.path, { limit: 50_000 }).then(
      () => true,
      () => false,
    );
    if (isFolder) go(entry.path);
    else look(entry.path);
  };

  if (file !== undefined)
    return <FileEditor key={file} files={files} path={file} writable={writable} onClose={() => change({ file: '' })} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: for dropping; the button does the same.
    <div
      className={over ? 'files over' : 'files'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(writable);
      }}
      onDragLeave={(event) => event.currentTarget.contains(event.relatedTarget as Node) || setOver(false)}
      onDrop={drop}
    >
      <div className="files-bar">
        <Crumbs folder={folder} onGo={go} />
        {writable && (
          <div className="filters">
            {sending && <span role="status">Uploading {sending}</span>}
            <Button icon="upload" busy={sending !== undefined} onClick={() => chooser.current?.click()}>
              Upload
            </Button>
            <Button icon="folder" onClick={() => setAsked({ what: 'folder' })}>
              New folder
            </Button>
            <Button icon="file" onClick={() => setAsked({ what: 'file' })}>
              New file
            </Button>
          </div>
        )}
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            const given = [...(event.target.files ?? [])].map((each) => ({ path: each.name, file: each }));
            event.target.value = '';
            void send(given, false);
          }}
        />
      </div>
      {listed.data ? (
        listed.data.length === 0 ? (
          <Empty title="This folder is empty" icon="folder" command={`skillbox sandbox cp ./notes.txt ${id}:${folder}/`}>
            {writable && <p>Drop files here to upload them.</p>}
          </Empty>
        ) : (
          <FileTable
            files={files}
            entries={listed.data}
            writable={writable}
            onOpen={(entry) => void open(entry)}
            onRename={(entry) => setAsked({ what: 'rename', entry })}
            onRemove={(entry) => setAsked({ what: 'remove', entry })}
          />
        )
      ) : listed.failure ? (
        <FailureState failure={listed.failure} retry={listed.reload} />
      ) : (
        <Loading />
      )}
      {over && <div className="drop-note">Drop to upload to {plainName(folder)}</div>}
      {asked?.what === 'folder' && (
        <NameDialog
          title="New folder"
          verb="Make it"
          onClose={() => setAsked(undefined)}
          onDone={done('Made.')}
          act={(name) => files.makeDir(joined(folder, name))}
        />
      )}
      {asked?.what === 'file' && (
        <NameDialog
          title="New file"
          verb="Make it"
          onClose={() => setAsked(undefined)}
          onDone={(name) => {
            setAsked(undefined);
            look(joined(folder, name));
          }}
          act={(name) => files.write(joined(folder, name), '', { new: true })}
        />
      )}
      {asked?.what === 'rename' && (
        <NameDialog
          title={`Rename ${plainName(nameOf(asked.entry.path))}`}
          verb="Rename"
          first={nameOf(asked.entry.path)}
          onClose={() => setAsked(undefined)}
          onDone={done('Renamed.')}
          act={(name) => files.move(asked.entry.path, joined(folder, name))}
        />
      )}
      {asked?.what === 'remove' && (
        <RemoveDialog files={files} entry={asked.entry} onClose={() => setAsked(undefined)} onDone={done('Removed.')} />
      )}
      {asked?.what === 'replace' && (
        <ReplaceDialog
          names={asked.files.map(({ path }) => path)}
          onClose={() => setAsked(undefined)}
          onConfirm={() => {
            setAsked(undefined);
            void send(asked.files, true);
          }}
        />
      )}
    </div>
  );
}

/** What programs do to the folder shows while somebody looks. */
function useWatch(id: string, folder: string, changed: () => void): void {
  const { client } = useBox();
  const visible = useVisible();
  useEffect(() => {
    if (!visible) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const watch = async (): Promise<void> => {
      for await (const _ of client.sandbox(id).files.watch(folder, {}, { signal: end.signal, timeoutMs: 0 })) {
        timer ??= setTimeout(() => {
          timer = undefined;
          changed();
        }, 300);
      }
    };
    // A folder that cannot be watched, or is gone, is shown as it was; loading it tells the reason.
    watch().catch((error: unknown) => !end.signal.aborted && noteFailure(error));
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [client, id, folder, visible, changed]);
}

function Crumbs({ folder, onGo }: { readonly folder: string; onGo(path: string): void }) {
  return (
    <nav className="crumbs" aria-label="Folders">
      <Button kind="quiet" icon="folder" label="To the home folder" onClick={() => onGo(home)} />
      {crumbsOf(folder).map(({ name, path }) => (
        <button key={path} type="button" aria-current={path === folder ? 'location' : undefined} onClick={() => onGo(path)}>
          {plainName(name)}
        </button>
      ))}
    </nav>
  );
}
