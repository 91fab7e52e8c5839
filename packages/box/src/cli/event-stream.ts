/** Server-sent events from the bytes of an answer. */

import type { StreamEvent } from '../commands/command.ts';

export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
    // What follows the last blank line is not whole yet.
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event) yield event;
    }
  }
}

function parseBlock(block: string): StreamEvent | undefined {
  const fields = { id: '', event: 'message' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (!match) continue;
    const [, name, value = ''] = match;
    if (name === 'data') data.push(value);
    else fields[name as 'id' | 'event'] = value;
  }
  // A comment, which only keeps the connection alive, or an event that only has an id.
  if (data.every((line) => line === '')) return undefined;
  return { ...fields, data: JSON.parse(data.join('\n')) };
}
