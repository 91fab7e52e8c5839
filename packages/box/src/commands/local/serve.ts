/** skillbox serve: the server in the foreground. */

import type { CliContext, Flags, Outcome } from '../../cli/leaf.ts';
import { onInterrupt } from '../../process/interrupts.ts';
import { startServer } from '../../server/serve.ts';
import { adminKeyFile } from '../../state.ts';

export async function serve({ config: load, io }: CliContext, flags: Flags): Promise<Outcome> {
  const config = load(flags);
  // Heard from the first moment on: who stops a server that still starts gets a server that stops when it has started.
  let heard: () => void = () => undefined;
  const interrupted = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const interrupts = onInterrupt(() => heard());
  const server = await startServer(config);
  const key = adminKeyFile(config.stateRoot);
  if (io.json) io.print(JSON.stringify({ url: server.url, pid: process.pid, state_root: config.stateRoot, admin_key_file: key }));
  else io.print(`The box is up at ${server.url}\nAdmin key: ${key}${io.width === undefined ? '' : '\nStop it with Ctrl-C.'}`);
  await interrupted;
  await server.stop();
  interrupts.stop();
  return {};
}
