/** Resources: instructions of skills, and what executions left: output, log, files. */

import { BoxError, executionId, type Page, type SkillSummary } from '@skillbox/protocol';
import { describeExecution } from '../../executions/description.ts';
import { type Ask, may } from './ask.ts';
import { asText, mimeOf } from './content.ts';
import { codes, RpcError } from './rpc.ts';

const scheme = 'skillbox://';
/** A resource travels in one message, as text or base64; what is larger is fetched from /v1. */
const largest = 16 * 2 ** 20;

export const skillUri = (name: string): string => `${scheme}skills/${name}`;
export const outputUri = (id: string): string => `${scheme}executions/${id}/output`;
export const logUri = (id: string): string => `${scheme}executions/${id}/logs`;
export const fileUri = (id: string, path: string): string =>
  `${scheme}executions/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}`;

export interface Contents {
  readonly uri: string;
  readonly mimeType: string;
  readonly text?: string;
  readonly blob?: string;
}

export const templates = [
  {
    uriTemplate: skillUri('{name}'),
    name: 'skill',
    description: 'Instructions of a skill, in its latest version',
    mimeType: 'text/markdown',
  },
  { uriTemplate: outputUri('{id}'), name: 'output', description: 'What an execution answered, whole', mimeType: 'application/json' },
  { uriTemplate: logUri('{id}'), name: 'logs', description: 'What an execution wrote to stdout and stderr', mimeType: 'text/plain' },
  { uriTemplate: `${scheme}executions/{id}/files/{+path}`, name: 'artifact', description: 'A file that an execution made' },
] as const;

export const describeSkill = ({ name, description, version }: SkillSummary) => ({
  uri: skillUri(name),
  name,
  description,
  mimeType: 'text/markdown',
  _meta: { 'skillbox/version': version },
});

/** Skills that are instructions only. */
export async function listInstructions({ box, caller }: Ask, cursor: string | undefined, limit: number): Promise<Page<SkillSummary>> {
  if (!may(caller, 'skills:read')) return { items: [], next_cursor: null };
  const { items, next_cursor } = await box.catalog.list(caller.tenant, { limit, ...(cursor !== undefined && { cursor }) });
  return { items: items.filter(({ mode }) => mode === 'cognitive'), next_cursor };
}

export async function readResource(ask: Ask, uri: string): Promise<{ readonly contents: Contents; readonly fixed: boolean }> {
  try {
    return await find(ask, uri);
  } catch (error) {
    if (error instanceof BoxError && error.status === 404) throw notFound(ask, uri);
    throw error;
  }
}

async function find(ask: Ask, uri: string): Promise<{ contents: Contents; fixed: boolean }> {
  const { box, caller } = ask;
  const skill = /^skillbox:\/\/skills\/([\w.-]{1,128})$/.exec(uri)?.[1];
  if (skill !== undefined && may(caller, 'skills:read')) {
    const { instructions } = await box.catalog.resolve(caller.tenant, skill, 'latest');
    return { contents: { uri, mimeType: 'text/markdown', text: instructions }, fixed: false };
  }
  const [, id = '', what = '', path = ''] = /^skillbox:\/\/executions\/([0-9a-f-]{36})\/(output|logs|files)(?:\/(.+))?$/.exec(uri) ?? [];
  if (!executionId.safeParse(id).success || !may(caller, 'executions:read') || (path !== '') !== (what === 'files'))
    throw notFound(ask, uri);
  if (what === 'files') return { contents: await readFile(ask, uri, id, decodePath(ask, uri, path)), fixed: true };
  const row = await box.executions.row(id, caller.tenant);
  const record = describeExecution(await box.records.read(row), () => '');
  const contents =
    what === 'output'
      ? { uri, mimeType: 'application/json', text: JSON.stringify(record.output) }
      : { uri, mimeType: 'text/plain', text: record.logs };
  return { contents, fixed: record.finished_at !== null };
}

async function readFile(ask: Ask, uri: string, id: string, path: string): Promise<Contents> {
  const { box, caller } = ask;
  await box.executions.row(id, caller.tenant);
  const file = (await box.records.files(id)).find((candidate) => candidate.path === path);
  if (!file) throw notFound(ask, uri);
  if (file.size > largest) {
    throw new RpcError(codes.invalidParams, `${path} has ${file.size} bytes, more than fits into one message.`, {
      data: { uri, hint: `Fetch it with the same key: GET /v1/executions/${id}/files/${path}.` },
    });
  }
  const chunks: Buffer[] = [];
  for await (const chunk of await box.store.blobs.get(file.sha256)) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const value = asText(bytes);
  const mimeType = mimeOf(path);
  if (value === undefined) return { uri, mimeType, blob: bytes.toString('base64') };
  return { uri, mimeType: mimeType === 'application/octet-stream' ? 'text/plain' : mimeType, text: value };
}

function decodePath(ask: Ask, uri: string, path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that stands for nothing: no file has such an address.
    throw notFound(ask, uri);
  }
}

const notFound = ({ modern }: Ask, uri: string): RpcError =>
  new RpcError(modern ? codes.invalidParams : codes.resourceNotFound, `There is no resource ${uri}.`, { data: { uri } });
