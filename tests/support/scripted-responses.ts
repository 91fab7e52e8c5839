/** A model that follows a script, behind OpenAI's Responses API: it uses the tool it is told to use, then says what the tool answered. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ScriptedModel } from './scripted-model.ts';

interface Tool {
  readonly type: string;
  readonly name?: string;
  /** Of a namespace: Codex offers the tools of an MCP server as one. */
  readonly tools?: readonly Tool[];
}

interface Item {
  readonly type: string;
  readonly output?: string | readonly { readonly text?: string }[];
}

interface ResponsesRequest {
  readonly model: string;
  readonly tools?: readonly Tool[];
  readonly input: readonly Item[];
}

/** `tool` is the end of its name: before it stands what the client calls its server. */
export async function startScriptedResponses(use: { readonly tool: string; readonly input: unknown }): Promise<ScriptedModel> {
  const offered = new Set<string>();
  const heard: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: Error) => {
      response.writeHead(500, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { message: error.message } }));
    });
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== 'POST' || !(request.url ?? '').endsWith('/responses')) {
      response.writeHead(404, { 'Content-Type': 'application/json' });
      response.end('{"error":{"message":"There is only /responses here."}}');
      return;
    }
    const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ResponsesRequest;
    const tools = namesOf(asked.tools ?? []);
    for (const { name } of tools) offered.add(name);
    const results = asked.input.filter(({ type }) => type === 'function_call_output').map(({ output }) => textOf(output));
    heard.push(...results);
    const tool = tools.find(({ name }) => name.endsWith(use.tool));
    send(response, asked.model, tool && results.length === 0 ? callOf(tool, use.input) : says(results.at(-1)));
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

interface Named {
  readonly name: string;
  readonly namespace?: string;
}

const namesOf = (tools: readonly Tool[]): Named[] =>
  tools.flatMap(({ type, name = type, tools: within }) =>
    within ? within.map((tool) => ({ name: tool.name ?? '', namespace: name })) : [{ name }],
  );

const textOf = (output: Item['output']): string =>
  typeof output === 'string' ? output : (output ?? []).map(({ text }) => text ?? '').join('');

const callOf = ({ name, namespace }: Named, input: unknown) =>
  ({
    ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name, arguments: JSON.stringify(input), status: 'completed' },
    ...(namespace !== undefined && { namespace }),
  }) as const;

const says = (result: string | undefined) =>
  ({
    ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: result === undefined ? 'Nothing to do.' : `It says: ${result}`, annotations: [] }],
  }) as const;

function send(response: ServerResponse, model: string, item: ReturnType<typeof callOf> | ReturnType<typeof says>): void {
  const whole = { id: 'resp_1', object: 'response', model, created_at: 1, output: [item] };
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
  const events = [
    { type: 'response.created', response: { ...whole, output: [], status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...whole, status: 'completed', usage } },
  ];
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}
