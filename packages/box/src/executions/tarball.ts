import { pipeline, type Readable } from 'node:stream';
import { pipeline as finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Artifact } from '@skillbox/protocol';
import { pack } from 'tar-stream';

/** Streams the artifacts one after the other, so that memory does not depend on their size. */
export function packArtifacts(files: readonly Artifact[], open: (digest: string) => Promise<Readable>): Readable {
  const archive = pack();
  const gzip = createGzip({ level: 6 });
  // An error here destroys the stream, and the reader of the answer sees it cut off.
  pipeline(archive, gzip, () => undefined);
  const fill = async (): Promise<void> => {
    for (const { path, size, sha256 } of files) {
      const source = await open(sha256);
      try {
        // Throws when the reader has gone away in the meantime.
        await finished(source, archive.entry({ name: path, size, mode: 0o644, mtime: new Date(0) }));
      } finally {
        source.destroy();
      }
    }
    archive.finalize();
  };
  fill().catch((error: Error) => archive.destroy(error));
  return gzip;
}
