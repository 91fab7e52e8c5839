/**
 * The sandbox that programs of a template share: found by its labels, made when there is none. The workspace is one for the whole box,
 * as its folders are; of any other template each client has its own.
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type Page, type Sandbox, type Template } from '@skillbox/protocol';
import { tryLock } from '../process/abstract-lock.ts';
import { workspaceName } from '../sandbox/workspace/template.ts';
import type { BoxApi } from './box-api.ts';

export interface SandboxWanted {
  readonly template: string;
  readonly client: string | undefined;
  /** Keeps makers of different boxes on one machine apart. */
  readonly stateRoot: string;
  /** A sandbox that asks from inside: it is in use, whatever runs in it. */
  readonly asking?: string | undefined;
  /** Something that the person should know. */
  note(text: string): void;
}

const patienceMs = 120_000;
const pollMs = 50;

export async function sandboxFor(api: BoxApi, wanted: SandboxWanted): Promise<string> {
  const known = await find(api, wanted);
  if (known?.fits) return known.id;
  const lock = await takeTurn(wanted);
  try {
    // Whoever was before may have made it.
    const now = await find(api, wanted);
    if (now?.fits) return now.id;
    const use = now && (now.id === wanted.asking ? 'busy' : await useOf(api, now.id));
    if (now && use === 'busy') {
      wanted.note(`The sandbox of template ${wanted.template} keeps its former settings until nothing runs in it`);
      return now.id;
    }
    if (now && use === 'idle') await api.request('DELETE', `/v1/sandboxes/${now.id}`);
    return await make(api, wanted);
  } finally {
    lock.release();
  }
}

/** The one there is, whatever its settings; undefined: none was made yet, or it rests. */
export async function knownSandbox(api: BoxApi, wanted: Pick<SandboxWanted, 'template' | 'client'>): Promise<string | undefined> {
  return (await living(api, wanted)).find(({ state }) => state === 'ready')?.id;
}

interface Found {
  readonly id: string;
  /** Made from the template as it is now. */
  readonly fits: boolean;
}

async function find(api: BoxApi, wanted: SandboxWanted): Promise<Found | undefined> {
  const all = await living(api, wanted);
  const definition = await definitionOf(api, wanted.template);
  const found = all.find(({ labels }) => labels[definitionLabel] === definition) ?? all[0];
  return found && { id: found.id, fits: found.labels[definitionLabel] === definition };
}

async function living(api: BoxApi, wanted: Pick<SandboxWanted, 'template' | 'client'>): Promise<Sandbox[]> {
  const query = new URLSearchParams({ template: wanted.template, labels: new URLSearchParams(labelsOf(wanted)).toString(), limit: '100' });
  const { items } = await api.request<Page<Sandbox>>('GET', `/v1/sandboxes?${query}`);
  return items.filter(({ state, host }) => (state === 'ready' || state === 'paused') && (api.host === undefined || host === api.host));
}

async function make(api: BoxApi, wanted: SandboxWanted): Promise<string> {
  const template = await api.request<Template>('GET', `/v1/templates/${wanted.template}`);
  const labels = { ...labelsOf(wanted), [definitionLabel]: hashOf(template) };
  // As long as its template lets it: the programs in it are to stay.
  const ttl = Math.floor(template.ttl.max_ms / 1000);
  const made = await api.request<Sandbox>('POST', '/v1/sandboxes', { template: wanted.template, labels, ttl });
  return made.id;
}

/** away: its provider is not configured any more, so that nobody can use or end it. */
async function useOf(api: BoxApi, id: string): Promise<'busy' | 'idle' | 'away'> {
  try {
    const { items } = await api.request<Page<{ readonly ended: boolean }>>('GET', `/v1/sandboxes/${id}/programs`);
    return items.some(({ ended }) => !ended) ? 'busy' : 'idle';
  } catch (error) {
    if (error instanceof BoxError && error.code === 'no_provider') return 'away';
    throw error;
  }
}

const definitionLabel = 'skillbox.definition';

const labelsOf = ({ template, client }: Pick<SandboxWanted, 'template' | 'client'>): Record<string, string> => ({
  'skillbox.graph': template,
  'skillbox.client': template === workspaceName ? '' : (client ?? ''),
});

const definitionOf = async (api: BoxApi, template: string): Promise<string> =>
  hashOf(await api.request<Template>('GET', `/v1/templates/${template}`));

const hashOf = (template: Template): string => createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 16);

/** The kernel frees it with the process that holds it. */
async function takeTurn({ stateRoot, template, client }: SandboxWanted) {
  const name = `sandbox-for-${createHash('sha256')
    .update(`${stateRoot}\0${template}\0${client ?? ''}`)
    .digest('hex')
    .slice(0, 32)}`;
  const since = performance.now();
  for (;;) {
    const lock = await tryLock(name);
    if (lock) return lock;
    if (performance.now() - since > patienceMs)
      throw new BoxError('graph_busy', `Another process has been making the sandbox of template ${template} for too long.`);
    await sleep(pollMs);
  }
}
