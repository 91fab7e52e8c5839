/**
 * What an agent reads first. Lists are bounded: it must be short enough to be read whole. Names and paths only, no command lines and no
 * values of env; what people wrote (labels, notes) goes through the mask.
 */

import type { Graph, Healthcheck, Service } from '../graph.ts';
import { liveText } from './live-text.ts';
import { isSecretName, type Mask, maskedLine, plainLine } from './mask.ts';
import { askedProfiles, type Live } from './record.ts';

export interface ContextParts {
  readonly live: Live | undefined;
  readonly skills: readonly string[];
  readonly mask: Mask;
}

const most = { repos: 30, services: 20, tasks: 15, skills: 60, logs: 15, checks: 15, envFiles: 15, facts: 20 };

export function contextText(graph: Graph, { live, skills, mask }: ContextParts): string {
  const flags = selectionFlags(graph);
  const say = (text: string): string => maskedLine(mask, text, 200);
  const parts = [
    head(graph, say),
    live && liveText(live, flags, mask),
    environment(graph, say),
    section(
      'Repos',
      listed(graph.repos, most.repos, flags, ({ id, place, source, notes }) =>
        item(`${code(id)} at ${code(place.path)} (${source.kind})`, notes, say),
      ),
    ),
    services(graph, flags, say),
    section('Tasks', [
      ...listed(graph.tasks, most.tasks, flags, ({ id, dependsOn, notes }) =>
        item(`${code(id)}${after(dependsOn)}: ${code(`skillbox bootstrap${flags} --task ${id}`)}`, notes, say),
      ),
    ]),
    section('Skills', skills.length === 0 ? [] : [`${named(skills, most.skills)}. They are in the skills folder of your home.`]),
    section(
      'Env files',
      listed(graph.envFiles, most.envFiles, flags, ({ id, place, required, notes }) =>
        item(`${code(id)} at ${code(place.path)}${required ? ', required' : ''}`, notes, say),
      ),
    ),
    section('Logs', [
      ...listed(graph.logs, most.logs, flags, ({ id, place, notes }) => item(`${code(id)} at ${code(place.path)}`, notes, say)),
    ]),
    section(
      'Checks',
      listed(graph.checks, most.checks, flags, ({ id, probe, notes }) => item(`${code(id)} (${probe.type})`, notes, say)),
    ),
    section('Connectors', connectors(graph)),
    quickReference(graph, flags),
  ];
  return `${parts.filter((part) => part).join('\n\n')}\n`;
}

/** As they stand behind a command: ` --client acme --profile local-core`. */
export function selectionFlags(graph: Pick<Graph, 'client' | 'profiles'>): string {
  const profiles = askedProfiles(graph);
  return `${graph.client ? ` --client ${graph.client.id}` : ''}${profiles.length > 0 ? ` --profile ${profiles.join(',')}` : ''}`;
}

function head({ client }: Graph, say: Mask): string {
  const title = client ? `# Client ${client.id}${client.label ? `: ${say(client.label)}` : ''}` : '# The box';
  return `${title}\n\n<!-- Made by skillbox sync, context and focus, and made anew by them: changes here are lost. -->`;
}

function environment({ client, profiles, variables }: Graph, say: Mask): string {
  const roots = ['SKILLBOX_WORKSPACE_ROOT', 'SKILLBOX_MONOSERVER_ROOT', 'SKILLBOX_HOME_ROOT', 'SKILLBOX_LOG_ROOT'].flatMap(
    (name) => variables[name] ?? [],
  );
  return section('Environment', [
    ...(variables.SKILLBOX_NAME ? [`- box: ${code(variables.SKILLBOX_NAME)}`] : []),
    `- client: ${client ? code(client.id) : 'none, only what the box itself declares'}`,
    ...(client && client.tenant !== client.id ? [`- tenant: ${code(client.tenant)}`] : []),
    `- profiles: ${profiles.map(code).join(', ')}`,
    ...(client?.defaultCwd ? [`- work in: ${code(client.defaultCwd.path)}`] : []),
    ...(client?.repoRoots ?? []).slice(0, most.facts).map(({ id, place }) => `- repos of ${code(id)}: ${code(place.path)}`),
    ...(roots.length > 0 ? [`- durable folders: ${roots.map(code).join(', ')}`] : []),
    ...facts(client?.context ?? {}, say),
  ]);
}

/** What the overlay wants agents to know, as far as it is plain; a secret has no place there, so names that speak of one are left out. */
function facts(context: Readonly<Record<string, unknown>>, say: Mask): string[] {
  const told = Object.entries(context).filter(([name]) => !isSecretName(name));
  const shown = told.slice(0, most.facts).map(([name, value]) => `- ${say(name)}: ${say(plain(value))}`);
  return told.length > most.facts ? [...shown, `- and ${told.length - most.facts} more: ${code('skillbox render')}`] : shown;
}

function plain(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return JSON.stringify(value, (name, inner) => (isSecretName(name) ? undefined : inner)) ?? '';
}

function services({ services: all }: Graph, flags: string, say: Mask): string {
  const lines = listed(all, most.services, flags, (service) => {
    const { id, kind, dependsOn, notes } = service;
    const what = `${code(id)} (${say(kind)})${after(dependsOn)}${answers(service)}`;
    if (service.own) return item(`${what}: the server of the box, started and stopped with it`, notes, say);
    if (Object.keys(service.commands).length === 0) return item(`${what}: managed elsewhere`, notes, say);
    const word = (verb: string): string => code(`skillbox ${verb}${flags} --service ${id}`);
    return `${item(what, notes, say)}\n  start ${word('up')}, stop ${word('down')}, anew ${word('restart')}, read ${word('logs')}`;
  });
  return section('Services', lines);
}

const after = (ids: readonly string[]): string => (ids.length > 0 ? `, after ${named(ids, 10)}` : '');

function answers({ healthcheck, ports }: Service): string {
  const at = healthcheck && address(healthcheck);
  if (at) return `, answers at ${code(at)}`;
  return ports.length > 0 ? `, port ${ports.slice(0, 10).join(', ')}` : '';
}

/** Without what may stand before an @ or behind a ? in it. */
function address(check: Healthcheck): string | undefined {
  if (check.type === 'port') return `${check.host}:${check.port}`;
  if (check.type !== 'http' || !URL.canParse(check.url)) return undefined;
  const { protocol, host, pathname } = new URL(check.url);
  return `${protocol}//${host}${pathname}`;
}

function connectors({ client, connectors: ofBox }: Graph): string[] {
  const names = client && client.connectors.length > 0 ? client.connectors : ofBox;
  return names.length > 0 ? [`${named(names, most.facts)}.`] : [];
}

function quickReference({ client }: Graph, flags: string): string {
  const rows = [
    [`skillbox status${flags}`, 'state of everything, what needs attention first'],
    [`skillbox doctor${flags}`, 'what is wrong, and the line that mends it'],
    [`skillbox up${flags}`, 'start everything that is selected'],
    [`skillbox down${flags}`, 'stop it'],
    [`skillbox sync${flags}`, 'fetch repos, write env files, install skills'],
    [`skillbox logs${flags} --service ID --lines 80`, 'what a service wrote'],
    ...(client
      ? [
          [`skillbox focus ${client.id}`, 'all of it in one pass, and this file anew with live state'],
          [`skillbox session start ${client.id} --label 'what it is about'`, 'begin a timeline of notes'],
          [`skillbox session status --client-id ${client.id} --state active`, 'timelines that are open'],
        ]
      : []),
    ['skillbox pulse status', 'the supervisor: what fell and was started again'],
  ] as const;
  const table = ['| command | what it does |', '|---|---|', ...rows.map(([command, what]) => `| ${code(command ?? '')} | ${what} |`)].join(
    '\n',
  );
  return section('Quick reference', [
    `${table}\n\nThe same as MCP tools: \`skillbox_status\`, \`skillbox_up\`, \`skillbox_logs\`, \`skillbox_focus\`, \`skillbox_session_event\` and so on; \`skillbox mcp install claude\` (or \`codex\`) puts them into your settings.`,
  ]);
}

const section = (title: string, lines: readonly string[]): string => (lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`);

/** Two backticks around what holds one, so that nothing can end it early. */
export const code = (text: string): string => {
  const clean = plainLine(text, 400);
  return clean.includes('`') ? `\`\` ${clean.replaceAll('``', "''")} \`\`` : `\`${clean}\``;
};

const item = (text: string, notes: string | undefined, say: Mask): string => `- ${text}${notes ? `. ${say(notes)}` : ''}`;

function listed<T>(items: readonly T[], limit: number, flags: string, line: (item: T) => string): string[] {
  const shown = items.slice(0, limit).map(line);
  return items.length > limit ? [...shown, `- and ${items.length - limit} more: ${code(`skillbox status${flags}`)}`] : shown;
}

const named = (names: readonly string[], limit: number): string =>
  names.slice(0, limit).map(code).join(', ') + (names.length > limit ? ` and ${names.length - limit} more` : '');
