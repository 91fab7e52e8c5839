/** Everything there is, by its first letters: pages, what is on them, things of the box, and what can be done. */

import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { failureOf, useBox } from '../box/box.ts';
import type { PageInfo } from '../pages/page.ts';
import { copyText } from '../parts/copy.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { complain, say } from '../parts/toasts.tsx';
import { navigate } from '../router.tsx';
import { toggleTheme } from './theme.ts';

interface Entry {
  readonly title: string;
  readonly icon: IconName;
  readonly note?: string | undefined;
  act(): void;
}

const askAfterMs = 150;

export function Palette({ pages, onClose }: { readonly pages: readonly PageInfo[]; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const own = useOwnEntries(pages);
  const found = useFound(pages, words.trim());
  const wanted = words.trim().toLowerCase();
  const entries = [...own.filter(({ title }) => fits(title.toLowerCase(), wanted)), ...found];
  const current = Math.min(at, entries.length - 1);

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    // Newer browsers answer with a promise, which is nothing to clean up with.
    void dialog.current?.querySelector(`[data-at="${current}"]`)?.scrollIntoView({ block: 'nearest' });
  }, [current]);

  const choose = (entry: Entry | undefined): void => {
    dialog.current?.close();
    entry?.act();
  };
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) setAt((current + step + entries.length) % entries.length);
    else if (event.key === 'Enter') choose(entries[current]);
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Find"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
      onKeyDown={keys}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Find a page, a skill, an execution, a sandbox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${current}`}
        placeholder="Where to? A page, a name, an id"
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
      />
      {entries.length === 0 ? (
        <p>Nothing fits.</p>
      ) : (
        <div id="palette-list" role="listbox" aria-label="What was found">
          {entries.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys.
            // biome-ignore lint/a11y/useFocusableInteractive: the field above keeps the focus.
            <div
              key={`${entry.title} ${entry.note ?? ''}`}
              id={`palette-${index}`}
              data-at={index}
              role="option"
              aria-selected={index === current}
              onPointerMove={() => setAt(index)}
              onClick={() => choose(entry)}
            >
              <Icon name={entry.icon} />
              {entry.title}
              {entry.note && <small>{entry.note}</small>}
            </div>
          ))}
        </div>
      )}
    </dialog>
  );
}

function useOwnEntries(pages: readonly PageInfo[]): readonly Entry[] {
  const { client, may, signOut } = useBox();
  return useMemo(() => {
    const copyLink = async (): Promise<void> => {
      try {
        const { url } = await client.signIn.link();
        await copyText(url);
        say('A link that signs in once, within five minutes, is in the clipboard.');
      } catch (error) {
        complain(failureOf(error));
      }
    };
    return [
      ...pages.flatMap(({ title, icon, shortcut, routes, entries = [] }) => [
        { title, icon, note: shortcut && `g ${shortcut}`, act: () => navigate(routes[0]?.path ?? '/') },
        ...entries
          .filter(({ scope }) => scope === undefined || may(scope))
          .map((entry) => ({ title: entry.title, icon, note: entry.note, act: () => navigate(entry.to) })),
      ]),
      { title: 'Change colours, dark or light', icon: 'sun', act: toggleTheme },
      { title: 'Copy a sign-in link for another browser', icon: 'link', act: () => void copyLink() },
      { title: 'API description', icon: 'book', act: () => window.open('/docs', '_blank', 'noopener') },
      { title: 'Sign out', icon: 'out', act: () => signOut() },
    ];
  }, [pages, client, may, signOut]);
}

function useFound(pages: readonly PageInfo[], words: string): readonly Entry[] {
  const { client } = useBox();
  const [found, setFound] = useState<readonly Entry[]>([]);
  useEffect(() => {
    const end = new AbortController();
    setFound([]);
    const ask = async (page: PageInfo): Promise<void> => {
      const entries = (await page.find?.(client, words, end.signal)) ?? [];
      if (end.signal.aborted) return;
      const made = entries.map(({ title, to, note = page.title }) => ({ title, note, icon: page.icon, act: () => navigate(to) }));
      setFound((before) => [...before, ...made]);
    };
    const timer = setTimeout(() => {
      if (words === '') return;
      // What one page cannot find, the others still may.
      for (const page of pages) ask(page).catch((error) => end.signal.aborted || console.warn(error));
    }, askAfterMs);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [client, pages, words]);
  return found;
}

/** All words, in any order. */
const fits = (title: string, words: string): boolean => words.split(/\s+/).every((word) => title.includes(word));
