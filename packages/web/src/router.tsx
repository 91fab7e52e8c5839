/** Addresses of the dashboard: what is looked at, and how it is filtered, stands in the URL, so that it can be shared. */

import { type AnchorHTMLAttributes, type MouseEvent, useMemo, useSyncExternalStore } from 'react';

const base = '/ui';
const listeners = new Set<() => void>();

/** Goes along with every link: for which tenant an administrator looks. */
const sticky = 'tenant';

export function navigate(to: string, { replace = false } = {}): void {
  const href = hrefOf(to);
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  for (const listener of listeners) listener();
}

/** `to` is a path within the dashboard, with a query if need be. */
export function hrefOf(to: string): string {
  const [path = '/', query = ''] = to.split('?', 2);
  const next = new URLSearchParams(query);
  const kept = new URLSearchParams(location.search).get(sticky);
  if (kept !== null && !next.has(sticky)) next.set(sticky, kept);
  // An empty one takes it away.
  if (next.get(sticky) === '') next.delete(sticky);
  const text = next.toString();
  return base + path + (text && `?${text}`);
}

/** Path and query as one text: a snapshot that compares. */
const snapshot = (): string => location.pathname + location.search;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

export function useAddress(): { readonly path: string; readonly query: URLSearchParams } {
  const text = useSyncExternalStore(subscribe, snapshot);
  return useMemo(() => {
    const [path = '', query = ''] = text.split('?', 2);
    return { path: path.slice(base.length) || '/', query: new URLSearchParams(query) };
  }, [text]);
}

/** The query, and a way to change parts of it; an empty value takes a part away. Filters replace the address: Back leaves the page. */
export function useQuery(): readonly [URLSearchParams, (changes: Readonly<Record<string, string | undefined>>) => void] {
  const { query } = useAddress();
  return [query, changeQuery] as const;
}

function changeQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState(null, '', location.pathname + (text && `?${text}`));
  for (const listener of listeners) listener();
}

/** `/executions/:id` against a path; undefined when it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = decoded(given[at] ?? '');
    if (value === undefined) return undefined;
    if (part.startsWith(':')) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not an address that the dashboard made.
    return undefined;
  }
}

export function Link({ to, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { readonly to: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    const elsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || elsewhere) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={hrefOf(to)} onClick={follow} />;
}
