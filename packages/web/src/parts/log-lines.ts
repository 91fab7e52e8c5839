/** A log as lines: grows by what comes, cheap to read anywhere in it, however long it is. */

import { type Look, parseAnsi, plain, stripAnsi } from './ansi.ts';

export type Source = 'stdout' | 'stderr' | 'status';

export class LogLines {
  /** Grows with every change, so that a view knows. */
  version = 0;
  readonly #lines: string[] = [];
  readonly #sources: Source[] = [];
  /** Only of lines that begin otherwise than plain. */
  readonly #looks = new Map<number, Look>();
  #open = false;
  #look: Look = plain;

  get count(): number {
    return this.#lines.length;
  }

  line(index: number): string {
    return this.#lines[index] ?? '';
  }

  source(index: number): Source {
    return this.#sources[index] ?? 'stdout';
  }

  look(index: number): Look {
    return this.#looks.get(index) ?? plain;
  }

  append(text: string, source: Source): void {
    if (text === '') return;
    const parts = text.split('\n');
    const last = this.#lines.length - 1;
    // What one stream has begun, only that stream goes on with.
    if (this.#open && this.#sources[last] === source) {
      this.#lines[last] += parts[0] ?? '';
      this.#track(last, this.#look);
      parts.shift();
    }
    for (const part of parts) this.#push(part, source);
    // A text that ends with a line's end has an empty part behind it.
    this.#open = !text.endsWith('\n');
    if (!this.#open && parts.length > 0) this.#pop();
    this.version += 1;
  }

  /** The next line after `from` that a test takes, round the end; undefined when none does. */
  find(test: (line: string, source: Source) => boolean, from: number, step: 1 | -1 = 1): number | undefined {
    const { count } = this;
    for (let seen = 0, at = from; seen < count; seen += 1) {
      at = (at + step + count) % count;
      if (test(this.line(at), this.source(at))) return at;
    }
    return undefined;
  }

  text(): string {
    return this.#lines.map(stripAnsi).join('\n');
  }

  #push(line: string, source: Source): void {
    this.#lines.push(line);
    this.#sources.push(source);
    this.#track(this.#lines.length - 1, this.#nextLook());
  }

  #pop(): void {
    this.#looks.delete(this.#lines.length - 1);
    this.#lines.pop();
    this.#sources.pop();
  }

  #nextLook(): Look {
    const before = this.#lines.length - 2;
    const line = this.#lines[before];
    if (line === undefined) return plain;
    const look = this.look(before);
    return line.includes('\x1b') ? parseAnsi(line, look).end : look;
  }

  #track(index: number, look: Look): void {
    this.#look = look;
    if (look === plain || Object.keys(look).length === 0) this.#looks.delete(index);
    else this.#looks.set(index, look);
  }
}

const trouble = /\b(error|exception|traceback|fatal|panic|failed|cannot|denied)\b/i;

/** What a reader who looks for the fault wants to see. */
export const isTrouble = (line: string, source: Source): boolean => source !== 'status' && trouble.test(stripAnsi(line));
