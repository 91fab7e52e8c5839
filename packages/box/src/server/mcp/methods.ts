/** What a client may ask for, by the name of the method. */

import { BoxError } from '@skillbox/protocol';
import { errorAnswer } from '../errors.ts';
import { isGone } from '../gone.ts';
import type { Ask } from './ask.ts';
import { callCommand, findCommand, listCommandTools } from './command-tools.ts';
import { failure, type ToolResult } from './content.ts';
import { elsewhereOf } from './far-call.ts';
import { findSkill } from './find-skill.ts';
import { describePrompt, getPrompt } from './prompts.ts';
import { describeSkill, listInstructions, readResource, templates } from './resources.ts';
import { allRevisions, capabilities, instructions, metaNames, modernRevision, serverInfo } from './revisions.ts';
import { codes, invalidParams, isObject, type Params, RpcError } from './rpc.ts';
import { callSkill, listSkillTools, seesSkills } from './skill-tools.ts';

type Result = Record<string, unknown>;
type Method = (ask: Ask, params: Params) => Promise<Result>;

/** Many clients read the first page only. */
const pageSize = 200;
/** How long a client may keep an answer: lists tell when they change, what has ended does not. */
const keep = { list: 0, fixed: 3600_000 } as const;

const both: Readonly<Record<string, Method>> = {
  async 'tools/list'(ask, params) {
    const { tools, next } = await listSkillTools(ask, cursorOf(params), pageSize);
    // Skills first; the box's own come with the last of them.
    if (next !== undefined) return { tools, nextCursor: next };
    return { tools: [...tools, ...listCommandTools(ask)] };
  },

  'tools/call': (ask, params) => callTool(ask, params) as Promise<unknown> as Promise<Result>,

  async 'resources/list'(ask, params) {
    const { items, next_cursor } = await listInstructions(ask, cursorOf(params), pageSize);
    return { resources: items.map(describeSkill), ...(next_cursor !== null && { nextCursor: next_cursor }) };
  },

  async 'resources/templates/list'() {
    return { resourceTemplates: templates };
  },

  async 'resources/read'(ask, { uri }) {
    if (typeof uri !== 'string' || uri.length > 8192) throw invalidParams('uri must be a text.');
    const { contents, fixed } = await readResource(ask, uri);
    return { contents: [contents], ...(ask.modern && fixed && { ttlMs: keep.fixed }) };
  },

  async 'prompts/list'(ask, params) {
    const { items, next_cursor } = await listInstructions(ask, cursorOf(params), pageSize);
    return { prompts: items.map(describePrompt), ...(next_cursor !== null && { nextCursor: next_cursor }) };
  },

  'prompts/get': getPrompt,
};

const methods = {
  modern: {
    ...both,
    async 'server/discover'() {
      return { supportedVersions: allRevisions, capabilities, instructions };
    },
  } as Readonly<Record<string, Method>>,
  session: {
    ...both,
    async ping() {
      return {};
    },
  } as Readonly<Record<string, Method>>,
};

const cacheable = new Set([
  ...['server/discover', 'tools/list', 'prompts/list'],
  ...['resources/list', 'resources/templates/list', 'resources/read'],
]);

export async function runMethod(ask: Ask, method: string, params: Params): Promise<Result> {
  const known = ask.modern ? methods.modern : methods.session;
  const run = Object.hasOwn(known, method) ? known[method] : undefined;
  if (!run) throw new RpcError(codes.methodNotFound, `There is no method ${method}.`, { status: ask.modern ? 404 : 200 });
  const result = await run(ask, params);
  return ask.modern ? asModern(method, result) : result;
}

function asModern(method: string, result: Result): Result {
  return {
    resultType: 'complete',
    ...(cacheable.has(method) && { ttlMs: keep.list, cacheScope: 'private' }),
    ...result,
    _meta: { ...(result._meta as Result | undefined), [metaNames.serverInfo]: serverInfo },
  };
}

async function callTool(ask: Ask, params: Params): Promise<ToolResult> {
  const { name, arguments: args = {} } = params;
  if (typeof name !== 'string') throw invalidParams('name must be a text.');
  if (!isObject(args)) throw invalidParams('arguments must be an object.');
  const command = findCommand(ask, name);
  const skill = command || !seesSkills(ask) ? undefined : await findSkill(ask, name);
  try {
    if (command) return await callCommand(ask, command, args);
    if (skill?.definition.mode === 'executable') return await callSkill(ask, skill, args);
  } catch (error) {
    if (isGone(error, ask.signal)) throw error;
    return (await elsewhereOf(ask, error, params)) ?? toolFailure(ask, error);
  }
  throw invalidParams(`There is no tool ${name}.`, { name });
}

/** What the box refuses is told to the model, which can do better; what it cannot do anything about is an error of the request. */
function toolFailure({ box, requestId }: Ask, error: unknown): ToolResult {
  const { status, body } = errorAnswer(error, requestId, box.log);
  if (!(error instanceof BoxError) && status === 500) throw new RpcError(codes.internal, body.message, { data: { request_id: requestId } });
  const details = body.details === undefined ? '' : `\n${JSON.stringify(body.details)}`;
  return failure(`${body.error}: ${body.message}${body.hint ? ` ${body.hint}` : ''}${details}`);
}

function cursorOf({ cursor }: Params): string | undefined {
  if (cursor === undefined || (typeof cursor === 'string' && cursor.length <= 1024)) return cursor;
  throw invalidParams('This cursor was not made by the box.');
}

export const isModernRevision = (revision: string): boolean => revision >= modernRevision;
