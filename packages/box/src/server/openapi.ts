/** /openapi.json, from the very schemas that validate. */

import { errorBody, errorKinds, workProgress } from '@skillbox/protocol';
import { z } from 'zod';
import type { Command } from '../commands/command.ts';
import { commands } from '../commands/registry.ts';
import { version } from '../version.ts';

type Json = Record<string, unknown>;

export function openApiDocument(): Json {
  const components: Json = {};
  const paths: Record<string, Json> = {};
  for (const command of commands) {
    const path = command.http.path.replace(/:(\w+)\*?/g, '{$1}');
    paths[path] = { ...paths[path], [command.http.method.toLowerCase()]: operation(command, components) };
  }
  const error = schemaOf(errorBody, 'output', components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Skillbox',
      version,
      description:
        'The self-hosted box that AI agents live in. Errors carry a stable code, a hint and the request id. The Model Context Protocol is spoken at /mcp, with the same keys; it describes itself.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: sorted({ ...components, ErrorCode: { type: 'string', enum: Object.keys(errorKinds).sort() } }),
      responses: { Error: { description: 'What went wrong, and what to do', content: { 'application/json': { schema: error } } } },
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: sk- and 48 hex digits' } },
    },
  };
}

function operation(command: Command, components: Json): Json {
  const { http, input, output } = command;
  const inPath = [...http.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  const inQuery = http.method === 'GET' || http.method === 'DELETE';
  const parameters = [
    ...inPath.map((name) => parameter(command, name, 'path', components)),
    ...(inQuery || http.raw === 'always' ? Object.keys(input.shape).filter((name) => name !== 'body' && !inPath.includes(name)) : []).map(
      (name) => parameter(command, name, 'query', components),
    ),
    ...(command.name === 'execution.create'
      ? [
          {
            name: 'Idempotency-Key',
            in: 'header',
            schema: { type: 'string', maxLength: 200 },
            description: 'The same key with the same request is accepted once',
          },
        ]
      : []),
    ...(output.kind === 'events' || command.follow
      ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'string' }, description: 'Go on after this event' }]
      : []),
  ];
  return {
    operationId: command.name,
    summary: command.summary,
    ...(command.description && { description: command.description }),
    tags: [command.name.split('.')[0]],
    ...(command.scope === null
      ? { security: [] }
      : { security: [{ key: [] }], ...(command.scope !== 'any' && { 'x-scope': command.scope }) }),
    parameters,
    ...(inQuery ? {} : bodyOf(command, inPath, components)),
    responses: { ...successOf(command, components), default: { $ref: '#/components/responses/Error' } },
  };
}

function parameter({ input }: Command, name: string, place: 'path' | 'query', components: Json): Json {
  const field = input.shape[name] as z.ZodType;
  const schema = schemaOf(field, 'input', components);
  const { description, ...rest } = schema;
  return {
    name,
    in: place,
    required: place === 'path' || !field.safeParse(undefined).success,
    schema: rest,
    ...(description ? { description } : {}),
  };
}

function bodyOf({ http, input }: Command, inPath: string[], components: Json): Json {
  if (http.upload) {
    const binary = { schema: { type: 'string', format: 'binary' } };
    const form = { schema: { type: 'object', properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] } };
    return { requestBody: { required: true, content: { 'application/zip': binary, 'multipart/form-data': form } } };
  }
  const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
  if (http.raw === 'always') return { requestBody: { required: true, content: bytes } };
  const elsewhere = [...inPath, ...(http.raw ? ['body'] : [])];
  const fields = Object.keys(input.shape).filter((name) => !elsewhere.includes(name));
  if (fields.length === 0) return {};
  const body =
    elsewhere.length === 0 ? input : input.omit(Object.fromEntries(elsewhere.map((name) => [name, true])) as Record<string, true>);
  const json = { 'application/json': { schema: schemaOf(body, 'input', components) } };
  return { requestBody: { required: true, content: { ...json, ...(http.raw && bytes) } } };
}

/** What who accepts text/event-stream gets instead of JSON. */
function eventsOf({ tellsProgress, follow }: Command, components: Json): { readonly content: Json; readonly said: string } | undefined {
  const schema = follow?.schema ?? (tellsProgress ? workProgress : undefined);
  if (!schema) return undefined;
  const said = follow
    ? `for who accepts text/event-stream, events ${follow.event} with their id, to be sent as Last-Event-ID to go on after it`
    : 'for who accepts text/event-stream, events progress, and last either result with this answer, or error with an Error and its status';
  return { content: { 'text/event-stream': { schema: schemaOf(schema, 'output', components) } }, said };
}

function successOf(command: Command, components: Json): Json {
  const { output } = command;
  if (output.kind === 'empty') return { 204: { description: 'Done' } };
  if (output.kind === 'text') return { 200: { description: 'The text', content: { 'text/plain': { schema: { type: 'string' } } } } };
  if (output.kind === 'bytes')
    return { 200: { description: 'The bytes', content: { [output.contentType]: { schema: { type: 'string', format: 'binary' } } } } };
  const schema = schemaOf(output.schema, 'output', components);
  if (output.kind === 'events') return { 200: { description: 'Server-sent events', content: { 'text/event-stream': { schema } } } };
  const events = eventsOf(command, components);
  const content = { 'application/json': { schema }, ...events?.content };
  const created = output.status === 201;
  const answer = events ? `The answer; ${events.said}` : 'The answer';
  return {
    ...(created ? { 201: { description: 'Made', content } } : { 200: { description: answer, content } }),
    ...(created && { 200: { description: 'It was there already', content } }),
    ...(output.accepted && { 202: { description: 'Accepted; Location says where to look', content } }),
  };
}

/** Named schemas go to the components, and what refers to them points there. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const {
    $schema: _schema,
    $defs,
    ...own
  } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' }) as Json & { $defs?: Json };
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] = repoint(definition as Json);
  const id = schema.meta()?.id;
  if (id === undefined) return repoint(own);
  // A schema that has a name may come as a pointer to itself among the definitions: then it is there already.
  if (own.$ref === undefined) components[id] = repoint(own);
  return { $ref: `#/components/schemas/${id}` };
}

function repoint(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
}

const sorted = (object: Json): Json => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
