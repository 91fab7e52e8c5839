/** Writes the documents that are made from code; with --check it only says which are stale, and fails if any is. */

import { join } from 'node:path';
import { benchmarkFiles, resultsFile } from '../bench/report/page.ts';
import { loadResults } from '../bench/report/results.ts';
import { renderCli } from './docs/cli.ts';
import { renderConfiguration, renderEnvExample } from './docs/configuration.ts';
import { renderE2b } from './docs/e2b.ts';
import { type GeneratedFile, refresh } from './docs/generated-file.ts';
import { renderManifest, renderManifestSchema, renderOverlaySchema } from './docs/manifest.ts';
import { renderGoSdk, renderPythonSdk } from './docs/sdk-records.ts';
import { renderSdkTypes } from './docs/sdk-types.ts';
import { renderTemplates } from './docs/templates.ts';

const files: readonly GeneratedFile[] = [
  { file: '.env.example', render: renderEnvExample },
  { file: 'docs/cli.md', render: renderCli },
  { file: 'docs/configuration.md', render: renderConfiguration },
  { file: 'docs/e2b.md', render: renderE2b },
  { file: 'docs/manifest.md', render: renderManifest },
  { file: 'docs/templates.md', render: renderTemplates },
  { file: 'docs/schema/skillbox.schema.json', render: renderManifestSchema },
  { file: 'docs/schema/overlay.schema.json', render: renderOverlaySchema },
  { file: 'sdks/python/skillbox/__init__.py', render: renderPythonSdk },
  { file: 'packages/sdk/src/types.ts', render: renderSdkTypes },
  { file: 'sdks/go/skillbox.go', render: renderGoSdk },
  ...benchmarkFiles(loadResults(resultsFile)),
];

const checkOnly = process.argv.includes('--check');
const stale = await refresh(join(import.meta.dirname, '..'), files, checkOnly);
if (!checkOnly) for (const file of stale) console.log(`wrote ${file}`);
if (checkOnly && stale.length > 0) {
  console.error(`Stale: ${stale.join(', ')}. Run node scripts/run-ts.mjs scripts/generate-docs.ts and commit the result.`);
  process.exitCode = 1;
}
