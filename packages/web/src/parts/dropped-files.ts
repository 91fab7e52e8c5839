/** What was dropped on the page, folders with what is in them. */

export interface GivenFile {
  /** Within what was dropped. */
  readonly path: string;
  readonly file: File;
}

interface Options {
  /** Paths that are not looked into. */
  readonly leaveOut?: RegExp;
  /** Whoever drops more has dropped the wrong folder: nothing is read beyond one more than that. */
  readonly most?: number;
}

/** What there is to read is taken at once: the browser forgets it when the event is over. */
export function droppedFiles({ items, files }: DataTransfer, options: Options = {}): Promise<GivenFile[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  // What another page or program made has no place on a disk.
  if (entries.length === 0) return Promise.resolve([...files].map((file) => ({ path: file.name, file })));
  return readAll(entries, options);
}

async function readAll(entries: readonly FileSystemEntry[], options: Options): Promise<GivenFile[]> {
  const found: GivenFile[] = [];
  for (const entry of entries) await walk(entry, '', found, options);
  return found;
}

async function walk(entry: FileSystemEntry, before: string, found: GivenFile[], options: Options): Promise<void> {
  const { leaveOut, most = Number.POSITIVE_INFINITY } = options;
  const path = before + entry.name;
  if (found.length > most || leaveOut?.test(path)) return;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // It gives a hundred at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await walk(inner, `${path}/`, found, options);
  }
}
