/** The dashboard: files that the build made, held in memory, under a policy that lets nothing run or load that is not among them. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { packageRoot } from '../package-root.ts';

export const dashboardPaths = ['/ui', '/ui/', '/ui/:path*'] as const;

export interface Dashboard {
  answer(path: string, acceptEncoding: string | undefined, ifNoneMatch: string | undefined): Response;
}

interface File {
  readonly type: string;
  readonly tag: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer> | undefined;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Whatever a skill writes and whatever a name contains: no inline script or style, nothing from elsewhere, in nobody's frame. */
const policy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const common = {
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
};

export function openDashboard(folder = join(packageRoot(), 'dist', 'web')): Dashboard {
  let files: Map<string, File> | undefined;

  return {
    answer(path, acceptEncoding = '', ifNoneMatch) {
      if (path === '/ui') return new Response(null, { status: 308, headers: { Location: '/ui/' } });
      // All at once, so that a build that goes on meanwhile cannot mix two versions.
      files ??= readAll(folder);
      const name = path.slice('/ui/'.length);
      const isAsset = name.startsWith('assets/');
      const file = files.get(name) ?? (isAsset ? undefined : files.get('index.html'));
      if (!file) throw missing(path, isAsset);
      // A name with a hash in it never means anything else.
      const cache = isAsset ? 'public, max-age=31536000, immutable' : 'no-cache';
      const headers = { ...common, 'Content-Type': file.type, 'Cache-Control': cache, ETag: file.tag, Vary: 'Accept-Encoding' };
      if (ifNoneMatch === file.tag) return new Response(null, { status: 304, headers });
      const packed = /\bgzip\b/.test(acceptEncoding) ? file.gzip : undefined;
      const body = packed ?? file.plain;
      return new Response(body, {
        headers: { ...headers, 'Content-Length': String(body.length), ...(packed && { 'Content-Encoding': 'gzip' }) },
      });
    },
  };
}

function readAll(folder: string): Map<string, File> {
  if (!existsSync(join(folder, 'index.html'))) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => types[extname(name)] !== undefined);
  return new Map(
    names.map((name) => {
      const path = join(folder, name);
      const plain = new Uint8Array(readFileSync(path));
      const tag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
      const gzip = existsSync(`${path}.gz`) ? new Uint8Array(readFileSync(`${path}.gz`)) : undefined;
      return [name, { type: types[extname(name)] ?? '', tag, plain, gzip }];
    }),
  );
}

function missing(path: string, isAsset: boolean): BoxError {
  if (isAsset) return new BoxError('not_found', `There is nothing at ${path}.`, { hint: 'Load the dashboard anew: /ui/.' });
  return new BoxError('unavailable', 'The dashboard has not been built.', { hint: 'Run make build.' });
}
