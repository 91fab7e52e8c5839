/** The network of one sandbox: its template's, or what its maker chose within that, kept in its record and changed while it lives. */

import { BoxError, type EgressRule, type NetworkChoice, type Template } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import type { SandboxRow } from '../store/tables.ts';
import { covers, type Policy, parsePolicy, parseRule, type Rule } from './egress/rules.ts';
import type { NetworkMode } from './living.ts';
import { isForWorkspaceOnly } from './workspace/grants.ts';
import { isWorkspace } from './workspace/template.ts';

export interface Network {
  readonly mode: NetworkMode;
  readonly allow: readonly EgressRule[];
  /** Whether it has a way to the box at all; decided when it is made, since what is mounted inside cannot change while it runs. */
  readonly channel: boolean;
}

export function networkOf(row: Pick<SandboxRow, 'network' | 'template'>): Network {
  if (row.network !== null) return JSON.parse(row.network) as Network;
  const { network } = templateIn(row);
  return { mode: network.mode, allow: network.allow, channel: hasChannel(network) };
}

/** To a provider it is the channel that counts; what goes through it is the proxy's to say. */
export function providerNetwork(row: Pick<SandboxRow, 'network' | 'template'>): NetworkMode {
  const { channel, mode } = networkOf(row);
  return channel ? 'allow' : mode;
}

/** For the proxy. What is not in mode allow reaches nothing through it. Credentials are the template's, whoever chose the list. */
export function policyOf(row: Pick<SandboxRow, 'network' | 'template'>): Policy {
  const { mode, allow } = networkOf(row);
  const template = templateIn(row);
  const { credentials, tls } = template.network;
  // Whatever a template that was kept says, nobody else has what is the workspace's.
  const internal = template.network.internal?.filter((grant) => isWorkspace(template) || !isForWorkspaceOnly(grant));
  const bare = mode === 'allow' ? parsePolicy('allow', allow) : ({ mode: 'none', rules: [] } as const);
  return { ...bare, ...(credentials && { credentials }), ...(tls && { tls }), ...(internal && { internal }) };
}

/** What a new sandbox of this template gets; null when that is the template's own. Throws forbidden for what the caller may not choose. */
export function chosenNetwork(caller: Caller, template: Template, choice: NetworkChoice | undefined): Network | null {
  if (!choice) return null;
  const { mode, allow } = checkChoice(caller, template, choice);
  // Narrowed to nothing it can still be opened again within the template.
  return { mode, allow, channel: mode === 'allow' || hasChannel(template.network) };
}

/** For one that lives. */
export function changedNetwork(caller: Caller, row: SandboxRow, choice: NetworkChoice | undefined): Network {
  const { channel } = networkOf(row);
  if (!choice) return { ...networkOf({ ...row, network: null }), channel };
  const { mode, allow } = checkChoice(caller, templateIn(row), choice);
  if (channel || mode === 'none') return { mode, allow, channel };
  throw new BoxError('invalid_state', `The sandbox ${row.id} was made without a way out, which cannot be added while it lives.`, {
    hint: 'Make it from a template with network mode allow, or with network {mode: allow} in the create.',
  });
}

const hasChannel = ({ internal, mode }: Template['network']): boolean =>
  mode === 'allow' || (mode === 'none' && internal !== undefined && internal.length > 0);

const templateIn = ({ template }: Pick<SandboxRow, 'template'>): Template => JSON.parse(template) as Template;

function checkChoice(caller: Caller, template: Template, { mode, allow }: NetworkChoice): Pick<Network, 'mode' | 'allow'> {
  if (template.network.mode === 'full')
    throw new BoxError(
      'bad_request',
      `The template ${template.name} has network mode full: its provider holds nothing back that could be narrowed.`,
    );
  if (mode === 'none') {
    if (allow?.length) throw new BoxError('bad_request', '/network/allow: a list needs mode allow.');
    return { mode, allow: [] };
  }
  const wanted = (allow ?? template.network.allow).map((rule) => checkedRule(rule));
  const bound = template.network.mode === 'allow' ? template.network.allow.map(parseRule) : [];
  const beyond = wanted.find((rule) => !bound.some((limit) => covers(limit, rule)));
  if (template.network.mode !== 'allow' && !caller.scopes.includes('admin'))
    throw new BoxError(
      'forbidden',
      `The template ${template.name} has network mode ${template.network.mode}; only administrators go beyond it.`,
    );
  if (beyond && !caller.scopes.includes('admin'))
    throw new BoxError(
      'forbidden',
      `${JSON.stringify(beyond.text)} is more than the template ${template.name} allows; only administrators go beyond it.`,
    );
  return { mode, allow: allow ?? template.network.allow };
}

function checkedRule(given: EgressRule): Rule {
  try {
    return parseRule(given);
  } catch (cause) {
    throw new BoxError('bad_request', `/network/allow: ${(cause as Error).message}`, { cause });
  }
}
