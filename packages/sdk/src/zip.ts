/** Packs files into a zip, uncompressed: skills are small, and a browser needs no more to push one. */

export interface PackedFile {
  readonly path: string;
  readonly data: Uint8Array;
  /** Whether it may be run. */
  readonly executable?: boolean;
}

const encoder = new TextEncoder();

export function zip(files: readonly PackedFile[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { path, data, executable } of files) {
    const name = encoder.encode(path);
    const sum = crc32(data);
    // Version 2.0, names in UTF-8, stored, 1980-01-01.
    const facts = [20, 0x0800, 0, 0, 0x21];
    const local = record(0x04034b50, [...facts.map(short), long(sum), long(data.length), long(data.length), short(name.length), short(0)]);
    parts.push(local, name, data);
    directory.push(
      record(0x02014b50, [
        ...[short(0x0314), ...facts.map(short), long(sum), long(data.length), long(data.length), short(name.length)],
        ...[short(0), short(0), short(0), short(0), long(((executable ? 0o100755 : 0o100644) << 16) >>> 0), long(offset)],
      ]),
      name,
    );
    offset += local.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = record(0x06054b50, [short(0), short(0), short(files.length), short(files.length), long(size), long(offset), short(0)]);
  return joined([...parts, ...directory, end]);
}

const short = (value: number): number[] => [value & 0xff, (value >>> 8) & 0xff];
const long = (value: number): number[] => [...short(value), ...short(value >>> 16)];
const record = (signature: number, fields: readonly number[][]): Uint8Array => Uint8Array.from([long(signature), ...fields].flat());

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function crc32(data: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of data) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}
