/** Server-sent events of a response. */

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly text?: string; readonly error?: string; readonly exit_code?: number | null };
}

/** All until the end, or that many. */
export async function events(response: Response, count = Number.POSITIVE_INFINITY): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const data = field('data');
      if (data) found.push({ id: field('id') ?? '', event: field('event') ?? '', data: JSON.parse(data) as StreamEvent['data'] });
    }
    if (found.length >= count) break;
  }
  return found.slice(0, count);
}
