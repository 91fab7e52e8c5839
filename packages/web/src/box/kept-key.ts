/**
 * The key of who is signed in. It stays with the tab (sessionStorage), so that closing it signs out, and other tabs of the
 * dashboard ask each other for it, so that a link in a new tab just works. Why not a cookie: docs/adr/0015-signing-in.md.
 */

const place = 'skillbox.key';
const askMs = 150;
const channel = new BroadcastChannel('skillbox.sign-in');

type Message = { readonly ask: true } | { readonly key: string } | { readonly gone: true };

export const readKey = (): string | undefined => sessionStorage.getItem(place) ?? undefined;

export function keepKey(key: string): void {
  sessionStorage.setItem(place, key);
}

/** In all tabs. */
export function forgetKey(): void {
  sessionStorage.removeItem(place);
  channel.postMessage({ gone: true } satisfies Message);
}

/** What another tab has; undefined when there is none. */
export function askOtherTabs(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent<Message>): void => {
      if ('key' in data) finish(data.key);
    };
    const finish = (key: string | undefined): void => {
      clearTimeout(timer);
      channel.removeEventListener('message', hear);
      resolve(key);
    };
    const timer = setTimeout(() => finish(undefined), askMs);
    channel.addEventListener('message', hear);
    channel.postMessage({ ask: true } satisfies Message);
  });
}

/** Answers other tabs, and hears when one of them signs out. */
export function shareKey(onGone: () => void): () => void {
  const hear = ({ data }: MessageEvent<Message>): void => {
    const key = readKey();
    if ('ask' in data && key !== undefined) channel.postMessage({ key } satisfies Message);
    if (!('gone' in data)) return;
    sessionStorage.removeItem(place);
    onGone();
  };
  channel.addEventListener('message', hear);
  return () => channel.removeEventListener('message', hear);
}

/** The code of a sign-in link. It is taken out of the address at once: nobody should find it in the history. */
export function takeCode(): string | undefined {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
