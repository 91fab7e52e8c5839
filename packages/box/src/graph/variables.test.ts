import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { createPathMap } from './paths.ts';
import { createVariables, type FillOptions } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'variables-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, '.env.example'), 'A=example\nB=example\nC=example\nEMPTY=\nSKILLBOX_NAME=from-example\n');
writeFileSync(join(folder, '.env'), 'B=file\nC="of file" # quoted\nMY_TOKEN=hush\nDSN=postgres://me:pw@db/x\n');
const env = { C: 'environment', HOME: '/root', SKILLBOX_SECRET_KEY: 'x'.repeat(32) };
const config = loadConfig({ cwd: folder, env });
const paths = createPathMap(config, { paths: {} });
const make = (client?: string) =>
  createVariables(config, paths, { name: config.name ?? '', ports: { web: 3000, 'dev-ui': 5173 }, client, origin: () => undefined });
const fill = (text: string, options: Partial<FillOptions> = {}) => make('acme').fill(text, { reader: 'workspace', ...options });

describe('placeholders', () => {
  it.each([
    ['${A}', 'example'],
    ['${B}', 'file'],
    ['${C}', 'environment'],
    ['${EMPTY}', ''],
    ['a ${A} b ${B}${C}', 'a example b fileenvironment'],
    ['$${A}', '${A}'],
    ['${a} $A ${A:-x} ${1}', '${a} $A ${A:-x} ${1}'],
    ['${CLIENT_ID}', 'acme'],
    ['${SKILLBOX_NAME}', 'from-example'],
    ['${SKILLBOX_API_PORT} ${SKILLBOX_WEB_PORT} ${SKILLBOX_DEV_UI_PORT}', '8080 3000 5173'],
    ['${SKILLBOX_WORKSPACE_ROOT} ${SKILLBOX_REPOS_ROOT} ${SKILLBOX_SKILLS_ROOT}', '/workspace /workspace/repos /workspace/skills'],
    ['${SKILLBOX_LOG_ROOT} ${SKILLBOX_HOME_ROOT}', '/workspace/logs /home/sandbox'],
    ['${SKILLBOX_MONOSERVER_ROOT} ${SKILLBOX_CLIENTS_ROOT}', '/monoserver /workspace/workspace/clients'],
    ['${SKILLBOX_MONOSERVER_HOST_ROOT}', join(folder, '.skillbox-state/monoserver')],
    ['${SKILLBOX_STATE_ROOT}', join(folder, '.skillbox-state')],
  ])('%s', (text, filled) => expect(fill(text)).toEqual({ text: filled, shown: filled, faults: [] }));

  it('a program on the host finds the folders of the workspace where they lie', () => {
    expect(fill('${SKILLBOX_LOG_ROOT}/x', { reader: 'host' }).text).toBe(join(folder, '.skillbox-state/workspace/logs/x'));
    expect(fill('${SKILLBOX_CLIENTS_ROOT}', { reader: 'host' }).text).toBe(join(folder, '.skillbox-state/clients'));
  });

  it('a shell keeps what is its own', () => {
    expect(fill('${HOME} ${PORT} ${A}', { shell: { PORT: '1' } })).toEqual({
      text: '${HOME} ${PORT} example',
      shown: '${HOME} ${PORT} example',
      faults: [],
    });
    expect(fill('${HOME}').text).toBe('/root');
  });

  it('an unknown one is told with what was probably meant', () => {
    expect(fill('${SKILLBOX_MONOSERVR_ROOT}').faults).toEqual([
      {
        code: 'graph.unknown_placeholder',
        message: 'nobody says what ${SKILLBOX_MONOSERVR_ROOT} stands for',
        fix: 'Did you mean ${SKILLBOX_MONOSERVER_ROOT}?',
      },
    ]);
    expect(make().fill('${CLIENT_ID}', { reader: 'host' }).faults).toMatchObject([{ code: 'graph.unknown_placeholder' }]);
  });

  it('a secret is a value of env only, and is not shown', () => {
    expect(fill('Bearer ${MY_TOKEN}', { secrets: true })).toEqual({ text: 'Bearer hush', shown: 'Bearer ${MY_TOKEN}', faults: [] });
    expect(fill('${DSN}', { secrets: true })).toMatchObject({ text: 'postgres://me:pw@db/x', shown: '${DSN}' });
    expect(fill('${MY_TOKEN}').faults).toMatchObject([{ code: 'graph.secret_misplaced' }]);
    expect(fill('${SKILLBOX_SECRET_KEY}', { secrets: true })).toMatchObject({
      text: '${SKILLBOX_SECRET_KEY}',
      faults: [{ code: 'graph.secret_misplaced' }],
    });
  });

  it('those that are used are listed with where they came from, secrets never', () => {
    const variables = make();
    for (const name of ['B', 'C', 'MY_TOKEN', 'DSN']) variables.fill(`\${${name}}`, { reader: 'host', secrets: true });
    expect(variables.shown()).toMatchObject({ B: 'file', C: 'environment', SKILLBOX_LOG_ROOT: '/workspace/logs' });
    expect(Object.keys(variables.shown())).not.toEqual(expect.arrayContaining(['A']));
    expect(JSON.stringify([variables.shown(), variables.origins()])).not.toMatch(/MY_TOKEN|hush|DSN|pw@/);
    const origins = new Map(variables.origins());
    expect(origins.get('B')).toEqual({ file: join(folder, '.env'), line: 1 });
    expect(origins.get('C')).toEqual({ file: 'environment', line: 0 });
    expect(origins.get('SKILLBOX_NAME')).toEqual({ file: join(folder, '.env.example'), line: 5 });
    expect(origins.get('SKILLBOX_LOG_ROOT')).toEqual({ file: 'default', line: 0 });
  });
});
