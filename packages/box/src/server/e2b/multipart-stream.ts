/** Parts of a multipart form as they arrive: file names stay whole, and no file has to fit into memory. */

import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';

export interface Part {
  readonly name: string;
  readonly filename: string | undefined;
  /** To be read to its end before the next part is asked for. */
  readonly content: Readable;
}

const maxHeadBytes = 16 * 1024;
const newline = Buffer.from('\r\n');
const blankLine = Buffer.from('\r\n\r\n');

export async function* readParts(body: AsyncIterable<Buffer>, contentType: string): AsyncGenerator<Part> {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  if (!boundary) throw malformed('Content-Type names no boundary');
  const delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`);
  const source = new Source(body);
  // The first boundary has no line before it; with one, all are alike.
  source.unread(newline);
  try {
    await drain(source.until(delimiter, maxHeadBytes));
    for (;;) {
      if ((await source.take(2)).toString('latin1') === '--') return await source.finish(maxHeadBytes);
      // What was taken ends the boundary's line; a head without lines would begin with the blank one.
      source.unread(newline);
      const head = parseHead(Buffer.concat(await collect(source.until(blankLine, maxHeadBytes))).toString('utf8'));
      const pieces = source.until(delimiter);
      yield { ...head, content: Readable.from(pieces, { objectMode: false }) };
      await drain(pieces);
    }
  } finally {
    source.close();
  }
}

/** Bytes that come in pieces, read up to a mark. */
class Source {
  #held: Buffer = Buffer.alloc(0);
  readonly #pieces: AsyncIterator<Buffer>;

  constructor(body: AsyncIterable<Buffer>) {
    this.#pieces = body[Symbol.asyncIterator]();
  }

  unread(bytes: Buffer): void {
    this.#held = Buffer.concat([bytes, this.#held]);
  }

  async take(length: number): Promise<Buffer> {
    while (this.#held.length < length) await this.#more();
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }

  /** Everything before the mark, which is passed over. */
  async *until(mark: Buffer, limit = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
    let seen = 0;
    for (;;) {
      const at = this.#held.indexOf(mark);
      const ready = at >= 0 ? at : Math.max(0, this.#held.length - mark.length + 1);
      const piece = this.#held.subarray(0, ready);
      seen += ready;
      if (seen > limit) throw malformed('a head is too long');
      this.#held = this.#held.subarray(at >= 0 ? at + mark.length : ready);
      if (piece.length > 0) yield piece;
      if (at >= 0) return;
      await this.#more();
    }
  }

  /** What follows the last boundary means nothing, but a body that is not read to its end costs the connection. */
  async finish(limit: number): Promise<void> {
    for (let seen = this.#held.length; seen <= limit; ) {
      const { done, value } = await this.#pieces.next();
      if (done) return;
      seen += value.length;
    }
    throw malformed('too much follows the last part');
  }

  /** Lets go of the body; nobody waits for what it still has to say. */
  close(): void {
    this.#pieces.return?.().catch(() => undefined);
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#pieces.next();
    if (done) throw malformed('it ended before it was whole');
    this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
  }
}

function parseHead(text: string): Pick<Part, 'name' | 'filename'> {
  const disposition = /^content-disposition:\s*form-data(.*)$/im.exec(text)?.[1] ?? '';
  const name = parameter(disposition, 'name');
  if (name === undefined) throw malformed('a part has no name');
  return { name, filename: parameter(disposition, 'filename') };
}

/** Quotes and line breaks in names are percent-encoded by those who follow the form standard, the rest is as it is. */
function parameter(text: string, name: string): string | undefined {
  const value = new RegExp(`;\\s*${name}="([^"]*)"`, 'i').exec(text)?.[1];
  return value?.replace(/%(22|0D|0A)/gi, (escaped) => decodeURIComponent(escaped));
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

async function drain(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of pieces);
}

const malformed = (what: string): BoxError => new BoxError('bad_request', `The multipart body cannot be read: ${what}.`);
