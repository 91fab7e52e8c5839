/** What the end-to-end tests share: small skills, the events of a stream, bytes on a bare socket. */

import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { packArchive } from '../../packages/box/src/skills/archive.ts';

export interface SkillOptions {
  readonly version?: string;
  /** More lines of front matter. */
  readonly extra?: string;
  readonly description?: string;
}

export function skill(lang: 'python' | 'bash', name: string, program: string, options: SkillOptions = {}): Record<string, string> {
  const { version = '1.0.0', extra = '', description = `The skill ${name}, for tests.` } = options;
  const head = `---\nname: ${name}\nversion: ${version}\ndescription: ${description}\nlang: ${lang}\n${extra}---\n\nFor tests.\n`;
  return { 'SKILL.md': head, [lang === 'python' ? 'main.py' : 'main.sh']: program };
}

/** Writes its input to its output. */
export const echoSkill = (name = 'echo', options: SkillOptions = {}): Record<string, string> =>
  skill(
    'python',
    name,
    'import json, os\nvalue = json.load(open("/sandbox/input.json"))\njson.dump(value, open(os.environ["SANDBOX_OUTPUT"], "w"))\n',
    options,
  );

/** Runs the shell text in the variable RUN. */
export const shellSkill = (name = 'shell', options: SkillOptions = {}): Record<string, string> =>
  skill('bash', name, 'eval "$RUN"\n', options);

export function zipOf(files: Record<string, string>): Promise<Buffer> {
  return packArchive(Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, data: Buffer.from(text) })));
}

export interface ServerEvent {
  readonly id: number;
  readonly event: string;
  readonly data: { readonly time: string; readonly text: string };
}

/** Events as they arrive; ends with the stream. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const id = field('id');
      if (id !== undefined)
        yield { id: Number(id), event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') as ServerEvent['data'] };
    }
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Asks again until the answer is good; fails when it never is. */
export async function until<T>(
  ask: () => Promise<T> | T,
  good: (value: T) => boolean = (value) => Boolean(value),
  withinMs = 10_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const value = await ask();
    if (good(value)) return value;
    if (Date.now() > end) throw new Error(`Still not so after ${withinMs} ms: ${JSON.stringify(value)}`);
    await delay(20);
  }
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Sends bytes as they are and reads until the other side closes, or until `quietMs` without a byte. */
export function rawExchange(url: string, bytes: string | Buffer, quietMs = 400): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    const done = (): void => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(quietMs, done);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', done);
    socket.on('close', done);
  });
}

/** The first answer in what came back. */
export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const rest = text.slice(end + 4);
  const body = headers['content-length'] === undefined ? rest : rest.slice(0, Number(headers['content-length']));
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0), headers, body };
}
