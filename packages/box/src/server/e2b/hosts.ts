import { sandboxIdPattern } from '@skillbox/protocol';

/** Where the SDK looks for the data plane when names of hosts lead to sandboxes; no server inside can have it. */
const dataPort = 49983;

/** The sandbox whose data plane a host name stands for. */
export function sandboxOfHost(host: string | undefined): string | undefined {
  const [port, id = ''] = host?.split('.', 1)[0]?.split('-', 2) ?? [];
  return port === String(dataPort) && sandboxIdPattern.test(id) ? id : undefined;
}
