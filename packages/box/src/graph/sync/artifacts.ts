/** Files that the box needs, from elsewhere: whole, with the hash that was declared, or not at all. */

import { createHash } from 'node:crypto';
import { closeSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { type ActionRecord, type ArtifactStatus, BoxError } from '@skillbox/protocol';
import type { Artifact, Place } from '../graph.ts';
import { draftAt, hostFile, openAt, statAt } from '../place.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';
import { bounded } from './bounded.ts';
import type { Digests } from './digests.ts';
import { download, downloadLimits, writeAll } from './download.ts';

const readSome = promisify(read);
const atOnce = 4;

/** present: there, with nothing to compare to. */
export async function artifactState(artifact: Artifact, digests: Digests): Promise<ArtifactStatus['state']> {
  const there = statAt(artifact.place);
  if (!there?.isFile()) return 'missing';
  if (artifact.executable && (there.mode & 0o111) === 0) return 'stale';
  const wanted = await wantedDigest(artifact, digests);
  if (wanted === undefined) return 'present';
  return (await digests.of(artifact.place)) === wanted ? 'ok' : 'stale';
}

export async function syncArtifacts(work: SyncWork, artifacts: readonly Artifact[], digests: Digests): Promise<ActionRecord[]> {
  const records = await bounded(artifacts, atOnce, (artifact) => {
    const about = { section: 'artifacts' as const, id: artifact.id, action: actionOf(artifact), path: artifact.place.path };
    return attempt(work, about, () => syncArtifact(work, artifact, digests));
  });
  return records.flat();
}

async function syncArtifact({ dryRun, runtime }: SyncWork, artifact: Artifact, digests: Digests): Promise<ActionRecord> {
  const { id, place, required, source } = artifact;
  const { path } = place;
  const action = actionOf(artifact);
  const state = await artifactState(artifact, digests);
  if (state === 'ok' || state === 'present') return recordOf('artifacts', id, action, 'unchanged', { path });
  if (action === 'check' || source.kind === 'manual') {
    const detail = `${state}, and manual: the box does not bring it`;
    if (!required) return recordOf('artifacts', id, 'check', 'skipped', { path, detail });
    const error = new BoxError('needs_input', `Artifact ${id} is required and ${detail}.`, {
      hint: `Put it at ${place.hostPath}${source.sha256 ? `, with SHA-256 ${source.sha256}` : ''}.`,
    });
    return recordOf('artifacts', id, 'check', 'failed', { path, detail, error });
  }
  if (dryRun) return recordOf('artifacts', id, action, 'planned', { path, detail: state });
  const draft = draftAt(place, { mode: artifact.executable ? 0o755 : 0o644 });
  try {
    const progress = (text: string): void => runtime.progress(`${id}: ${text}`);
    if (source.kind === 'url') runtime.progress(`Fetching ${id}`);
    const digest =
      source.kind === 'url'
        ? await download(source.url, draft.fd, { limits: downloadLimits, signal: runtime.signal, onProgress: progress })
        : await copy(hostFile(source.path), draft.fd, id);
    if (source.sha256 !== undefined && digest !== source.sha256)
      throw new BoxError(
        'sync_failed',
        `What came for artifact ${id} has SHA-256 ${digest}, not ${source.sha256} as declared; it was thrown away.`,
        {
          hint: 'Find out which of the two is right, and correct sha256 or the source.',
        },
      );
    draft.commit();
    digests.learn(place, digest);
  } catch (error) {
    draft.discard();
    throw error;
  }
  return recordOf('artifacts', id, action, 'done', { path, detail: state === 'stale' ? 'it was another one' : undefined });
}

/** What was declared; without that, what the source has now. */
async function wantedDigest({ source }: Artifact, digests: Digests): Promise<string | undefined> {
  if (source.sha256 !== undefined || source.kind !== 'file') return source.sha256;
  return digests.of(hostFile(source.path));
}

function actionOf({ source, sync }: Artifact): 'download' | 'copy' | 'check' {
  if (sync === 'manual' || source.kind === 'manual') return 'check';
  return source.kind === 'url' ? 'download' : 'copy';
}

async function copy(from: Place, to: number, id: string): Promise<string> {
  const fd = openAt(from);
  if (fd === undefined)
    throw new BoxError('sync_failed', `The source of artifact ${id} is not there: ${from.hostPath}`, {
      hint: 'Correct source.path, or put it there.',
    });
  try {
    const digest = createHash('sha256');
    const part = Buffer.allocUnsafe(256 * 1024);
    for (let position = 0; ; ) {
      const { bytesRead } = await readSome(fd, part, 0, part.length, position);
      if (bytesRead === 0) return digest.digest('hex');
      const bytes = part.subarray(0, bytesRead);
      digest.update(bytes);
      await writeAll(to, bytes);
      position += bytesRead;
    }
  } finally {
    closeSync(fd);
  }
}
