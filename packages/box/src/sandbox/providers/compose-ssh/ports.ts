/** Ports of services in both spellings that a resolved configuration may have. */

export interface Publication {
  /** In the container. */
  readonly target: number;
  /** As the compose file numbers it for others. */
  readonly published?: number;
  readonly protocol: string;
}

/** Undefined for what is not one port: then we could not say who reaches it. */
export function publicationOf(given: unknown): Publication | undefined {
  if (typeof given === 'number') return one(given, undefined, 'tcp');
  if (typeof given === 'string') return shortPort(given);
  if (typeof given !== 'object' || given === null) return undefined;
  const { target, published, protocol, mode } = given as Record<string, unknown>;
  if (mode !== undefined && mode !== 'ingress' && mode !== 'host') return undefined;
  return one(target, published === '' ? undefined : published, String(protocol ?? 'tcp'));
}

/** `80`, `8080:80`, `127.0.0.1:8080:80/udp`, `[::1]::80`. */
function shortPort(text: string): Publication | undefined {
  const match = /^(?:(?:.*:)?(\d*):)?(\d+)(?:\/(\w+))?$/.exec(text);
  return match ? one(match[2], match[1] || undefined, match[3] ?? 'tcp') : undefined;
}

function one(target: unknown, published: unknown, protocol: string): Publication | undefined {
  const [inside, outside] = [Number(target), published === undefined || published === null ? undefined : Number(published)];
  if (!isPort(inside) || (outside !== undefined && outside !== 0 && !isPort(outside))) return undefined;
  return { target: inside, protocol, ...(outside && { published: outside }) };
}

const isPort = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 65_536;
