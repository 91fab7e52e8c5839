/** Commands of the registry as tools, by the scopes of the key. What travels as bytes over HTTP is text or base64 here. */

import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { type Command, Reply, type StreamEvent } from '../../commands/command.ts';
import { isForInside } from '../../commands/inside.ts';
import { commands } from '../../commands/registry.ts';
import { packArchive } from '../../skills/archive.ts';
import { validate } from '../input.ts';
import { perform } from '../perform.ts';
import { type Ask, commandContext, may } from './ask.ts';
import { asText, cut, isPicture, mimeOf, type ToolResult, text } from './content.ts';
import { toolNameOfCommand } from './names.ts';
import type { Params } from './rpc.ts';

/** Commands that are no tools, and what is there instead. */
export const withoutTool: Readonly<Record<string, string>> = {
  'execution.events': 'a call of a skill tells its progress; skillbox_execution_logs reads the log',
  'execution.archive': 'files of executions are resources, one by one',
  'sandbox.file.watch': 'a stream without an end',
  'event.follow': 'a stream without an end; skillbox_event_list tells what happened',
  'signin.link': 'people sign in to the dashboard, not agents',
  'signin.exchange': 'as above',
  'signin.end': 'as above',
  'sandbox.resize': 'nobody looks at a terminal through a tool',
};

/** What a tool answers with at once. */
const mostBytes = 2 ** 20;
const mostEvents = 10_000;

interface CommandTool {
  readonly command: Command;
  readonly definition: Readonly<Record<string, unknown>>;
}

/** Made when first asked for: schemas of all commands take a few milliseconds. */
let made: ReadonlyMap<string, CommandTool> | undefined;

function tools(): ReadonlyMap<string, CommandTool> {
  made ??= new Map(
    commands
      .filter(({ name }) => !Object.hasOwn(withoutTool, name))
      .map((command) => [toolNameOfCommand(command.name), { command, definition: describe(command) }]),
  );
  return made;
}

export const listCommandTools = (ask: Ask): readonly Readonly<Record<string, unknown>>[] =>
  [...tools().values()].filter(({ command }) => allowed(ask, command)).map(({ definition }) => definition);

/** undefined for what there is not, and for what this key must not do. */
export function findCommand(ask: Ask, tool: string): Command | undefined {
  const command = tools().get(tool)?.command;
  return command && allowed(ask, command) ? command : undefined;
}

export async function callCommand(ask: Ask, command: Command, args: Params): Promise<ToolResult> {
  const context = commandContext(ask);
  command.admit?.(ask.box, ask.caller);
  const given = await asInput(command, args);
  const input = validate(command.input, given) as Record<string, unknown>;
  const result = await perform(command, context, input);
  const reply = result instanceof Reply ? result : new Reply(result);
  return answerOf(command, reply, input);
}

const allowed = ({ caller }: Ask, command: Command): boolean => {
  const { scope } = command;
  if (caller.inside !== undefined && !isForInside(command)) return false;
  return scope === null || scope === 'any' || may(caller, scope);
};

function describe(command: Command): Readonly<Record<string, unknown>> {
  const { name, summary, description, output, effect, http } = command;
  const outputSchema = output.kind === 'json' ? jsonSchema(output.schema, 'output') : undefined;
  const changes = effect === 'change';
  return {
    name: toolNameOfCommand(name),
    title: summary,
    description: [`${summary}.`, ...(description ? [description] : [])].join(' '),
    inputSchema: jsonSchema(argumentsOf(command), 'input'),
    ...(outputSchema?.type === 'object' && { outputSchema }),
    annotations: {
      title: summary,
      readOnlyHint: !changes,
      // What only adds does not destroy; of everything else that changes nobody can be sure.
      destructiveHint: changes && !(output.kind === 'json' && output.status === 201),
      idempotentHint: !changes || http.method === 'DELETE' || http.method === 'PUT',
      openWorldHint: false,
    },
  };
}

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> => {
  const { $schema: _dialect, ...own } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' });
  return own;
};

/** The input of a command, with words for what cannot be written in JSON. */
function argumentsOf({ input, http, output }: Command): z.ZodObject {
  if (http.upload) {
    const files = z.record(z.string(), z.string()).describe('The files of the skill, path to text; SKILL.md is one of them');
    return z.strictObject({ files });
  }
  let shape = { ...input.shape } as Record<string, z.ZodType>;
  if (http.raw) {
    const { body: _body, ...rest } = shape;
    shape = http.raw === 'always' ? { ...rest, ...contentShape } : rest;
  }
  // Tools answer once: what there is so far.
  if (output.kind === 'events') delete shape.follow;
  return z.strictObject(shape);
}

const contentShape = {
  content: z.string().describe('What to write'),
  encoding: z.enum(['text', 'base64']).default('text').describe('How content is written'),
};

async function asInput({ http, output }: Command, args: Params): Promise<Record<string, unknown>> {
  if (http.upload) {
    const { files } = validate(z.object({ files: z.record(z.string(), z.string()) }), { ...args }) as { files: Record<string, string> };
    const entries = Object.entries(files).map(([path, value]) => ({ path, mode: 0o644, data: Buffer.from(value) }));
    return { archive: await packArchive(entries) };
  }
  if (http.raw === 'always') {
    const { content, encoding, ...rest } = args;
    const given = validate(z.object(contentShape), { content, ...(encoding !== undefined && { encoding }) });
    const { content: value, encoding: how } = given as { content: string; encoding: 'text' | 'base64' };
    return { ...rest, body: Readable.from([Buffer.from(value, how === 'base64' ? 'base64' : 'utf8')]) };
  }
  if (http.raw && Object.hasOwn(args, 'body')) throw new BoxError('bad_request', '/body: use data.');
  return { ...args, ...(output.kind === 'events' && { follow: false }) };
}

async function answerOf({ output }: Command, { body }: Reply, input: Record<string, unknown>): Promise<ToolResult> {
  if (output.kind === 'empty') return { content: [text('Done.')] };
  if (output.kind === 'text') return { content: [text(cut(String(body), 'The rest is in the log itself.'))] };
  if (output.kind === 'bytes') return bytesOf(body as Readable, String(input.path ?? ''));
  if (output.kind === 'events') {
    const events: unknown[] = [];
    for await (const { event, data } of body as AsyncIterable<StreamEvent>) {
      events.push({ event, ...(data as object) });
      if (events.length >= mostEvents) break;
    }
    return { content: [text(cut(events.map((event) => JSON.stringify(event)).join('\n'), 'There is more.'))] };
  }
  // Through JSON, as every other client sees it: what is undefined is not there.
  const json = JSON.stringify(body);
  return { content: [text(cut(json, 'Ask for less, with a filter or a limit.'))], structuredContent: JSON.parse(json) };
}

async function bytesOf(stream: Readable, path: string): Promise<ToolResult> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > mostBytes)
        throw new BoxError('too_large', `${path} has more than ${mostBytes} bytes.`, { hint: 'Read it in parts, with offset and limit.' });
    }
  } finally {
    stream.destroy();
  }
  const bytes = Buffer.concat(chunks);
  const mimeType = mimeOf(path);
  if (isPicture(mimeType)) return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType }] };
  const value = asText(bytes);
  if (value !== undefined) return { content: [text(value)] };
  return { content: [{ type: 'resource', resource: { uri: `file://${encodeURI(path)}`, mimeType, blob: bytes.toString('base64') } }] };
}
