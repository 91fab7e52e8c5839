/** A command's input from its places in a request: path, query, body, upload. */

import type { IncomingMessage } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import type { z } from 'zod';
import type { Command } from '../commands/command.ts';
import type { Config } from '../config.ts';
import { readJsonBody, readUpload } from './body.ts';

export async function readInput(
  command: Command,
  request: IncomingMessage,
  params: Record<string, string>,
  query: URLSearchParams,
  config: Config,
): Promise<unknown> {
  const { http, input } = command;
  if (http.upload) return validate(input, { ...params, archive: await readUpload(request, config.maxSkillSize) });
  const raw = http.raw === 'always' || (http.raw === 'unless-json' && !isJson(request));
  const inQuery = raw || http.method === 'GET' || http.method === 'DELETE';
  const rest = inQuery ? queryValues(query, http.signed ?? false) : await readJsonBody(request, config.maxRequestSize);
  for (const name of Object.keys(params)) {
    if (Object.hasOwn(rest, name))
      throw new BoxError('bad_request', `${name} stands in the path; leave it out of the ${inQuery ? 'query' : 'body'}.`);
  }
  if (raw && Object.hasOwn(rest, 'body'))
    throw new BoxError('bad_request', 'body is the body of the request, and cannot stand in the query.');
  return validate(input, { ...rest, ...params, ...(raw && { body: request }) });
}

const isJson = (request: IncomingMessage): boolean => /^application\/json\b/i.test(request.headers['content-type'] ?? '');

function queryValues(query: URLSearchParams, signed: boolean): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of query) {
    if (signed && (name === 'expires' || name === 'signature')) continue;
    if (Object.hasOwn(values, name)) throw new BoxError('bad_request', `${name} is given more than once.`);
    values[name] = value;
  }
  return values;
}

/** Kept: zod compiles a schema when it is first used, which takes longer than using it. */
const strict = new WeakMap<z.ZodObject, z.ZodObject>();

function strictly(schema: z.ZodObject): z.ZodObject {
  const known = strict.get(schema) ?? schema.strict();
  strict.set(schema, known);
  return known;
}

export function validate(schema: z.ZodObject, value: Record<string, unknown>): unknown {
  const parsed = strictly(schema).safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => ({ path: `/${issue.path.join('/')}`, message: issue.message }));
  const [first] = problems;
  throw new BoxError('bad_request', first ? `${first.path}: ${first.message}` : 'The request does not fit.', {
    details: { problems: problems.slice(0, 20) },
  });
}
