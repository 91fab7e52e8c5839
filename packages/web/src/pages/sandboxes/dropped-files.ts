/** What was dropped, folders with what is in them. */

export interface GivenFile {
  /** Within what was dropped. */
  readonly path: string;
  readonly file: File;
}

export async function droppedFiles({ items, files }: DataTransfer): Promise<GivenFile[]> {
  // Taken at once: the browser forgets them when the event is over.
  const entries = [...items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null));
  if (entries.every((entry) => entry === null)) return [...files].map((file) => ({ path: file.name, file }));
  const found = await Promise.all(entries.map((entry) => (entry ? within(entry) : [])));
  return found.flat();
}

async function within(entry: FileSystemEntry): Promise<GivenFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ''), file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: GivenFile[] = [];
  // It tells a part each time, and nothing at the end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return found;
    for (const each of part) found.push(...(await within(each)));
  }
}
