/** skillbox sandbox shell: this terminal as a terminal in the sandbox. */

import { BoxError, sandboxId } from '@skillbox/protocol';
import { z } from 'zod';
import { remoteError } from './client.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { exitOf } from './sandbox-exec.ts';

const input = z.object({
  id: sandboxId,
  cmd: z.string().optional().describe('A line for bash (default: an interactive shell)'),
  program: z.number().int().positive().optional().describe('Return to this program instead of starting one'),
});

export const shellLeaf: Leaf = {
  name: 'sandbox.shell',
  words: 'sandbox shell',
  summary: 'Open a terminal in a sandbox',
  description: 'Exits with the exit code of the shell. When the connection breaks the shell goes on: return to it with --program.',
  examples: ['skillbox sandbox shell ID', 'skillbox sandbox shell ID --program 3'],
  input,
  args: ['id'],
  remote: true,
  async run({ config }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { id, cmd, program } = input.parse(given);
    const [{ WebSocket }, { findConnection }] = await Promise.all([import('ws'), import('./connection.ts')]);
    const { url, key, tenant } = findConnection(config());
    const { stdin, stdout } = process;
    const query = new URLSearchParams({ cols: String(stdout.columns ?? 80), rows: String(stdout.rows ?? 24) });
    if (cmd !== undefined) query.set('cmd', cmd);
    if (program !== undefined) query.set('program', String(program));
    const headers = {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(tenant !== undefined && { 'X-Tenant-ID': tenant }),
    };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/sandboxes/${id}/pty?${query}`, { headers });
    const resize = (): void => socket.send(JSON.stringify({ resize: { cols: stdout.columns ?? 80, rows: stdout.rows ?? 24 } }));
    const type = (bytes: Buffer): void => socket.send(bytes);
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        let running: number | undefined;
        socket.on('unexpected-response', (_request, response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => reject(remoteError(response, Buffer.concat(chunks).toString('utf8'), url)));
        });
        socket.on('error', (cause) => reject(new BoxError('unreachable', `No box answers at ${url}: ${cause.message}.`, { cause })));
        socket.on('open', () => {
          if (stdin.isTTY) stdin.setRawMode(true);
          stdin.on('data', type);
          // ^D, as a terminal says that nothing more comes.
          stdin.once('end', () => socket.send(Buffer.from([4])));
          stdout.on('resize', resize);
        });
        socket.on('message', (data: Buffer, binary) => {
          if (binary) stdout.write(data);
          else {
            const news = JSON.parse(data.toString('utf8')) as News;
            running = news.program ?? running;
            if (news.exit) resolve({ exit: exitOf({ exit_code: news.exit.code, signal: news.exit.signal }) });
          }
        });
        socket.on('close', () => {
          const hint = running === undefined ? {} : { hint: `Return to it: skillbox sandbox shell ${id} --program ${running}` };
          reject(new BoxError('unreachable', 'The connection broke.', hint));
        });
      });
    } finally {
      stdin.off('data', type);
      stdout.off('resize', resize);
      if (stdin.isTTY) stdin.setRawMode(false);
      stdin.pause();
      socket.terminate();
    }
  },
};

interface News {
  readonly program?: number;
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
}
