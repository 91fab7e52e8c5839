/** Where a project comes from: a folder of this machine that the operator allowed, or an address for the host's git. */

import { realpathSync } from 'node:fs';
import { isAbsolute, sep } from 'node:path';
import { BoxError } from '@skillbox/protocol';

export type Source = { readonly kind: 'folder'; readonly path: string } | { readonly kind: 'git'; readonly address: string };

const gitAddress = /^(https:\/\/|ssh:\/\/)[\w.@:[\]-]+\/[^\0\s]+$|^[\w.-]+@[\w.-]+:[^\0\s-][^\0\s]*$/;

/** `roots`: folders whose contents may be copied to placement hosts. */
export function sourceOf(repo: string, roots: readonly string[]): Source {
  if (gitAddress.test(repo)) {
    if (/^\w+:\/\/[^/]*:[^/]*@/.test(repo))
      throw new BoxError('bad_request', 'An address with a password in it is not taken: it would be kept.', {
        hint: 'Give the host’s account its own key or credential helper.',
      });
    return { kind: 'git', address: repo };
  }
  if (!isAbsolute(repo))
    throw new BoxError('bad_request', `${JSON.stringify(repo)} is neither a folder nor an address of a repository.`, {
      hint: 'Give an absolute path, https://…, ssh://… or user@host:path.',
    });
  const path = resolved(repo);
  const allowed = roots
    .map((root) => resolved(root))
    .some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  if (allowed) return { kind: 'folder', path };
  throw new BoxError('forbidden', `The folder ${repo} is not one that may be copied to other machines.`, {
    hint: 'The operator names such folders in SKILLBOX_COMPOSE_ROOTS.',
  });
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw new BoxError('bad_request', `There is no folder ${path}.`, { cause });
  }
}
