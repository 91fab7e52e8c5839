/** Flags that every command takes, before or after its name. */

import { BoxError } from '@skillbox/protocol';
import type { SettingName } from '../config.ts';
import type { Flags } from './leaf.ts';

export interface GlobalFlag {
  readonly name: string;
  readonly short?: string;
  /** Stands for the value; a flag without one is a switch. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  readonly description: string;
  /** The setting it sets. */
  readonly setting?: SettingName;
  /** Only for commands that talk to a box. */
  readonly remote?: boolean;
}

export const globalFlags: readonly GlobalFlag[] = [
  {
    name: 'server',
    short: 's',
    placeholder: 'url',
    description: 'Address of the box (SKILLBOX_SERVER_URL)',
    setting: 'serverUrl',
    remote: true,
  },
  { name: 'api-key', short: 'k', placeholder: 'key', description: 'Key for the box (SKILLBOX_API_KEY)', setting: 'apiKey', remote: true },
  {
    name: 'tenant',
    short: 't',
    placeholder: 'name',
    description: 'Act for this tenant, as an administrator (SKILLBOX_TENANT)',
    setting: 'tenant',
    remote: true,
  },
  { name: 'output', short: 'o', placeholder: 'json|table', choices: ['json', 'table'], description: 'Form of the result' },
  { name: 'json', description: 'Short for --output json' },
  { name: 'state-root', placeholder: 'dir', description: 'Folder of the local box (SKILLBOX_STATE_ROOT)', setting: 'stateRoot' },
  { name: 'manifest', placeholder: 'file', description: 'Path of skillbox.yaml (SKILLBOX_MANIFEST)', setting: 'manifest' },
];

/** Flags as settings; `given` is by name, and the last one who names a flag wins. */
export function settingsOf(given: ReadonlyMap<string, unknown>): Flags {
  const flags: Flags = {};
  for (const { name, setting } of globalFlags) {
    const value = given.get(name);
    if (setting && typeof value === 'string') flags[setting] = value;
  }
  return flags;
}

export function wantsJson(given: ReadonlyMap<string, unknown>): boolean {
  const output = given.get('output');
  if (output !== undefined && output !== 'json' && output !== 'table') {
    throw new BoxError('usage', `--output: expected json or table, not ${JSON.stringify(output)}.`);
  }
  return given.get('json') === true || output === 'json';
}
