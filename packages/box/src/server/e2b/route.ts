import type { IncomingMessage } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import type { z } from 'zod';
import type { Box } from '../../box.ts';
import { readJsonBody } from '../body.ts';

/** One path of the control plane. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  run(call: Call): Promise<Response>;
}

export interface Call {
  readonly box: Box;
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

export async function readBody<S extends z.ZodType>({ box, request }: Call, schema: S): Promise<z.output<S>> {
  return check(schema, await readJsonBody(request, box.config.maxRequestSize));
}

export function check<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new BoxError('bad_request', `${issue?.path.join('.')}: ${issue?.message}.`, { hint: '' });
}
