// A model that follows a script, behind the two APIs of OpenAI, so that the example runs offline.

import { createServer } from 'node:http';

/** Each turn is a call of a tool, `{ name, args }` with args as the text a model writes, or a text. Both APIs play the same turns, each from the first. */
export async function startModel(turns) {
  const requests = { responses: [], chat: [] };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const api = request.url === '/v1/responses' ? 'responses' : 'chat';
    const turn = turns[requests[api].push(body) - 1];
    const answer = api === 'responses' ? responseOf(turn) : completionOf(turn);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/v1`, requests, close: () => server.close().closeAllConnections() };
}

function responseOf(turn) {
  const output =
    typeof turn === 'string'
      ? {
          type: 'message',
          id: 'msg',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: turn, annotations: [] }],
        }
      : { type: 'function_call', id: 'fc', call_id: `call-${turn.name}`, name: turn.name, arguments: turn.args, status: 'completed' };
  return { id: 'resp', object: 'response', created_at: 0, status: 'completed', model: 'scripted', output: [output] };
}

function completionOf(turn) {
  const message =
    typeof turn === 'string'
      ? { role: 'assistant', content: turn }
      : {
          ...{ role: 'assistant', content: null },
          tool_calls: [{ id: `call-${turn.name}`, type: 'function', function: { name: turn.name, arguments: turn.args } }],
        };
  const finish_reason = typeof turn === 'string' ? 'stop' : 'tool_calls';
  return { id: 'chat', object: 'chat.completion', created: 0, model: 'scripted', choices: [{ index: 0, message, finish_reason }] };
}
