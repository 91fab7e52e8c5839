/** Which proxy the environment names for an address: the variables that curl and git heed, so that all that sync fetches goes one way. */

import { BoxError } from '@skillbox/protocol';

/** undefined: straight there. */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const of = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const named = of(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? of('ALL_PROXY');
  if (named === undefined || isExempt(url, of('NO_PROXY') ?? '')) return undefined;
  const text = named.includes('://') ? named : `http://${named}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  throw new BoxError('sync_failed', `The environment names a proxy for ${url.host} that is none of http or https.`, {
    hint: 'Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, such as http://proxy.example:3128, or name the host in NO_PROXY.',
  });
}

/** A name stands for itself and for all below it; with a port, for that port only. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const own = port || (protocol === 'https:' ? '443' : '80');
  const host = bare(hostname);
  return list
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', only] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
      const wanted = bare(name).replace(/^\*?\./, '');
      if (wanted === '' || (only !== undefined && only !== own)) return false;
      return host === wanted || host.endsWith(`.${wanted}`);
    });
}

/** An address of IPv6 without its brackets. */
const bare = (host: string): string => host.replace(/^\[|\]$/g, '');
