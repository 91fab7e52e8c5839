/** A small declared environment for a test box: a task, a service that needs it, a check, and the client acme with a repo of its own. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const manifest = `version: 1
name: test-box
graph:
  tasks:
    - id: make
      command: echo made > made.txt
      outputs: [made.txt]
  services:
    - id: web
      command: echo hello from web; exec sleep 600
      bootstrap_tasks: [make]
  checks:
    - id: made
      type: path_exists
      path: made.txt
`;

const overlay = `version: 1
client:
  id: acme
  label: Acme
  repos:
    - id: notes
      path: \${SKILLBOX_REPOS_ROOT}/notes
      source:
        kind: directory
      sync:
        mode: ensure-directory
`;

/** What startTestBox needs for it: the state root, in which the manifest lies too. */
export function graphEnv(): { readonly SKILLBOX_STATE_ROOT: string } {
  const stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-graph-'));
  writeFileSync(join(stateRoot, 'skillbox.yaml'), manifest);
  mkdirSync(join(stateRoot, 'clients', 'acme'), { recursive: true });
  writeFileSync(join(stateRoot, 'clients', 'acme', 'overlay.yaml'), overlay);
  return { SKILLBOX_STATE_ROOT: stateRoot };
}
