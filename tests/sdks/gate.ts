/** A proxy before a box: notes what goes through, and at addresses of its own puts faults in the way. */

import { type ClientRequest, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Fault {
  readonly status?: number;
  readonly error?: string;
  readonly retry_after?: number;
  /** Lets so many events of a stream pass, then breaks the connection. */
  readonly cut_after?: number;
  /** Never answers. */
  readonly silent?: boolean;
}

export interface Passed {
  /** Name of the gate; empty for the box itself. */
  readonly gate: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly lastEventId: string | undefined;
}

export interface Gate {
  readonly url: string;
  readonly passed: Passed[];
  close(): void;
}

export async function openGate(box: string, faults: Readonly<Record<string, readonly Fault[]>>): Promise<Gate> {
  const { hostname, port } = new URL(box);
  const left = new Map(Object.entries(faults).map(([name, list]) => [name, [...list]]));
  const passed: Passed[] = [];
  const server = createServer((request, response) => {
    const [, name, rest] = /^\/gate\/([\w-]+)(\/.*)$/.exec(request.url ?? '') ?? [];
    const path = rest ?? request.url ?? '/';
    passed.push({
      ...{ gate: name ?? '', method: request.method ?? '', path: path.split('?')[0] ?? '' },
      idempotencyKey: headerOf(request, 'idempotency-key'),
      lastEventId: headerOf(request, 'last-event-id'),
    });
    const fault = name === undefined ? undefined : left.get(name)?.shift();
    if (fault?.silent) return;
    if (fault?.status !== undefined) return refuse(request, response, fault);
    const onward = send({ hostname, port, method: request.method, path, headers: request.headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      if (fault?.cut_after === undefined) answer.pipe(response);
      else cut(answer, response, fault.cut_after);
    });
    forward(request, response, onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function forward(request: IncomingMessage, response: ServerResponse, onward: ClientRequest): void {
  onward.on('error', () => response.destroy());
  // A caller that leaves leaves the box too.
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

/** As the box answers, once the body is in. */
function refuse(request: IncomingMessage, response: ServerResponse, { status = 503, error, retry_after }: Fault): void {
  request.resume().on('end', () => {
    response.writeHead(status, {
      'Content-Type': 'application/json',
      ...(retry_after !== undefined && { 'Retry-After': String(retry_after) }),
    });
    response.end(JSON.stringify({ error, message: 'The gate is in the way.', hint: 'Try again.', request_id: 'gate' }));
  });
}

function cut(answer: IncomingMessage, response: ServerResponse, events: number): void {
  let text = '';
  answer.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const blocks = text.split('\n\n');
    const numbered = blocks.flatMap((block, index) => (block.startsWith('id:') && index < blocks.length - 1 ? [index] : []));
    if (numbered.length < events) return;
    const end = blocks.slice(0, (numbered[events - 1] ?? 0) + 1).join('\n\n');
    // Half of the next event goes too: a reader must not take it for a whole one.
    response.write(Buffer.from(`${end}\n\nid: 99\nevent: stdout\nda`, 'latin1'), () => response.destroy());
    answer.destroy();
  });
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
