/** Archives inside a skill are refused: what is in them was not scanned. Office documents are zips too, and are let through when they are nothing else. */

import { listZipNames } from './zip.ts';

/** What kind of archive the file is, or undefined when it is none (or a document). */
export async function nestedArchiveKind(path: string, data: Buffer): Promise<string | undefined> {
  const ending = /\.([^./]+)$/.exec(path.toLowerCase())?.[1] ?? '';
  if (archiveEndings.has(ending)) return ending;
  const kind = kindByContent(data);
  if (kind === 'zip' && documentEndings.has(ending)) return (await isPlainDocument(data)) ? undefined : `${ending} that is not a document`;
  return kind;
}

const archiveEndings = new Set(
  (
    'zip zipx tar gz tgz bz2 tbz tbz2 xz txz lz lzma lz4 zst tzst 7z rar cab ar deb rpm iso dmg ' +
    'jar war ear apk aar whl egg pyz pyzw nupkg crx xpi vsix gem phar asar skill'
  ).split(' '),
);

/** Without the macro-enabled ones: those are programs. */
const documentEndings = new Set('docx dotx xlsx xltx pptx potx ppsx thmx vsdx odt ott ods ots odp otp odg epub'.split(' '));

const magics: readonly { readonly kind: string; readonly bytes: Buffer; readonly at?: number }[] = [
  { kind: 'zip', bytes: Buffer.from('PK\x03\x04', 'latin1') },
  { kind: 'zip', bytes: Buffer.from('PK\x05\x06', 'latin1') },
  { kind: 'zip', bytes: Buffer.from('PK\x07\x08', 'latin1') },
  { kind: 'gzip', bytes: Buffer.from([0x1f, 0x8b, 0x08]) },
  { kind: 'bzip2', bytes: Buffer.from([0x31, 0x41, 0x59, 0x26, 0x53, 0x59]), at: 4 },
  { kind: 'xz', bytes: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]) },
  { kind: '7z', bytes: Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]) },
  { kind: 'rar', bytes: Buffer.from('Rar!\x1a\x07', 'latin1') },
  { kind: 'zstd', bytes: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
  { kind: 'lz4', bytes: Buffer.from([0x04, 0x22, 0x4d, 0x18]) },
  { kind: 'lzip', bytes: Buffer.from('LZIP\x01', 'latin1') },
  { kind: 'cab', bytes: Buffer.from('MSCF\0\0\0\0', 'latin1') },
  { kind: 'ar', bytes: Buffer.from('!<arch>\n', 'latin1') },
  { kind: 'tar', bytes: Buffer.from('ustar', 'latin1'), at: 257 },
];

function kindByContent(data: Buffer): string | undefined {
  for (const { kind, bytes, at = 0 } of magics) {
    if (data.length >= at + bytes.length && data.compare(bytes, 0, bytes.length, at, at + bytes.length) === 0) return kind;
  }
  return hasZipEnd(data) ? 'zip' : undefined;
}

/** A zip is found from its end, so a program or picture with a zip appended is one: Python would run it. */
function hasZipEnd(data: Buffer): boolean {
  const endSize = 22;
  const tail = data.subarray(Math.max(0, data.length - endSize - 0xffff));
  for (let at = tail.indexOf('PK\x05\x06', 0, 'latin1'); at !== -1; at = tail.indexOf('PK\x05\x06', at + 1, 'latin1')) {
    if (at + endSize <= tail.length && at + endSize + tail.readUInt16LE(at + 20) === tail.length) return true;
  }
  return false;
}

async function isPlainDocument(data: Buffer): Promise<boolean> {
  let names: string[];
  try {
    names = await listZipNames(data, 5000);
  } catch {
    // Not readable as a zip, so not a document: refused like any other archive.
    return false;
  }
  if (!names.includes('[Content_Types].xml') && names[0] !== 'mimetype') return false;
  return !names.some((name) => archiveEndings.has(/\.([^./]+)$/.exec(name.toLowerCase())?.[1] ?? '') || name.endsWith('vbaProject.bin'));
}
