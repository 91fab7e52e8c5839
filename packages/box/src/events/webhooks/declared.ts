/** The webhooks of the manifest, with the secrets that it names. */

import { BoxError } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import type { Manifest } from '../../manifest/schema.ts';
import type { DeclaredHook } from './hooks.ts';
import { isSigningSecret } from './signature.ts';

export function declaredHooks(declarations: Manifest['webhooks'], config: Pick<Config, 'variable'>): DeclaredHook[] {
  return Object.entries(declarations).map(([name, { url, events, secret_env }]) => {
    const secret = config.variable(secret_env);
    if (secret !== undefined && isSigningSecret(secret)) return { name, url, events, secret };
    const what = secret === undefined ? 'is not set' : 'is not whsec_ and 24 to 64 bytes in base64';
    throw new BoxError('config_invalid', `${secret_env}, which signs for the webhook ${name} of the manifest, ${what}.`, {
      hint: `Make one and give it to the hub too: echo "${secret_env}=whsec_$(openssl rand -base64 32)" >> .env`,
      details: { variable: secret_env },
    });
  });
}
