import type { FileEntry, SandboxHandle } from '@skillbox/sdk';
import { failureOf } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { Button } from '../../parts/button.tsx';
import { formatBytes } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain } from '../../parts/toasts.tsx';
import { download } from './download.ts';
import { nameOf } from './paths.ts';
import { plainName } from './plain-name.ts';

interface Props {
  readonly files: SandboxHandle['files'];
  readonly entries: readonly FileEntry[];
  readonly writable: boolean;
  onOpen(entry: FileEntry): void;
  onRename(entry: FileEntry): void;
  onRemove(entry: FileEntry): void;
}

export function FileTable({ files, entries, writable, onOpen, onRename, onRemove }: Props) {
  const fetch = (path: string): void =>
    void download(files, path).catch((error: unknown) => {
      noteFailure(error);
      complain(failureOf(error));
    });
  return (
    <table className="table file-table">
      <thead>
        <tr>
          <th>Name</th>
          <th className="right">Size</th>
          <th className="wide">Mode</th>
          <th className="wide right">Changed</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sorted(entries).map((entry) => {
          const name = plainName(nameOf(entry.path));
          return (
            <tr key={entry.path}>
              <td className="file-name">
                <button type="button" className="file-open" disabled={entry.kind === 'other'} onClick={() => onOpen(entry)}>
                  <Icon name={icons[entry.kind]} />
                  <span>
                    {name}
                    {entry.target !== undefined && <small> → {plainName(entry.target)}</small>}
                  </span>
                </button>
              </td>
              <td className="right nowrap">{entry.kind === 'file' ? formatBytes(entry.size) : ''}</td>
              <td className="wide mono">{(entry.mode & 0o777).toString(8).padStart(3, '0')}</td>
              <td className="wide right nowrap">
                <Ago time={entry.modified_at} />
              </td>
              <td className="right nowrap">
                {entry.kind === 'file' && (
                  <Button kind="quiet" icon="download" label={`Download ${name}`} onClick={() => fetch(entry.path)} />
                )}
                {writable && <Button kind="quiet" icon="edit" label={`Rename ${name}`} onClick={() => onRename(entry)} />}
                {writable && <Button kind="quiet" icon="trash" label={`Remove ${name}`} onClick={() => onRemove(entry)} />}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const icons = { file: 'file', directory: 'folder', symlink: 'link', other: 'cpu' } as const;

/** Folders first. */
const sorted = (entries: readonly FileEntry[]): FileEntry[] =>
  [...entries].sort(
    (one, other) => Number(other.kind === 'directory') - Number(one.kind === 'directory') || one.path.localeCompare(other.path),
  );
