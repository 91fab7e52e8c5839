/** A model that follows a script, behind Anthropic's Messages API: it uses the tool it is told to use, then says what the tool answered. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedModel {
  readonly url: string;
  /** Names of the tools that it was offered, over all requests. */
  readonly offered: Set<string>;
  /** What tools answered, as text. */
  readonly heard: string[];
  close(): Promise<void>;
}

interface Block {
  readonly type: string;
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[];
}

interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
}

export async function startScriptedModel(use: { readonly tool: string; readonly input: unknown }): Promise<ScriptedModel> {
  const offered = new Set<string>();
  const heard: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: Error) => {
      response.writeHead(500, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ type: 'error', error: { type: 'api_error', message: error.message } }));
    });
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0];
    const text = await bodyOf(request);
    if (request.method !== 'POST' || path !== '/v1/messages') {
      response.writeHead(path === '/v1/messages/count_tokens' ? 200 : 404, { 'Content-Type': 'application/json' });
      response.end('{"input_tokens":1}');
      return;
    }
    const asked = JSON.parse(text) as MessagesRequest;
    for (const { name } of asked.tools ?? []) offered.add(name);
    const results = toolResults(asked);
    heard.push(...results);
    const block = asked.tools?.some(({ name }) => name === use.tool) && results.length === 0 ? callOf(use) : says(results.at(-1));
    send(response, asked, block);
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, offered, heard },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const callOf = ({ tool, input }: { tool: string; input: unknown }) => ({ type: 'tool_use', id: 'toolu_1', name: tool, input }) as const;
const says = (result: string | undefined) =>
  ({ type: 'text', text: result === undefined ? 'Nothing to do.' : `It says: ${result}` }) as const;

type Answer = ReturnType<typeof callOf> | ReturnType<typeof says>;

function send(response: ServerResponse, { model, stream }: MessagesRequest, block: Answer): void {
  const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: stop,
    stop_sequence: null,
    usage,
  };
  if (!stream) {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(message));
    return;
  }
  const empty = block.type === 'tool_use' ? { ...block, input: {} } : { ...block, text: '' };
  const delta =
    block.type === 'tool_use'
      ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
      : { type: 'text_delta', text: block.text };
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

function toolResults({ messages }: MessagesRequest): string[] {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return blocks
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => (typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('')));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
