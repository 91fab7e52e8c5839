/** Navigation on the left, the page on the right, and the palette over both. */

import { ConnectionError } from '@skillbox/sdk';
import { Component, type LazyExoticComponent, lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { type Failure, failureOf, useBox } from '../box/box.ts';
import { noteFailure, useReachable } from '../box/reachable.ts';
import type { Route, ViewProps } from '../pages/page.ts';
import { pages } from '../pages/pages.ts';
import { Button } from '../parts/button.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, FailureState, Loading } from '../parts/states.tsx';
import { matchPath, navigate, useAddress } from '../router.tsx';
import { Nav } from './nav.tsx';
import { Palette } from './palette.tsx';
import { Works } from './works.tsx';

export function Shell() {
  const { may } = useBox();
  const { path } = useAddress();
  const reachable = useReachable();
  const [palette, setPalette] = useState(false);
  const [menu, setMenu] = useState(false);
  const visible = useMemo(() => pages.filter(({ scope }) => may(scope)), [may]);
  useShortcuts(() => setPalette(true));

  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that was chosen needs the room of the menu.
  useEffect(() => setMenu(false), [path]);
  const found = useMemo(() => {
    for (const page of visible)
      for (const route of page.routes) {
        const params = (route.scope === undefined || may(route.scope)) && matchPath(route.path, path);
        if (params) return { page, route, params };
      }
    return undefined;
  }, [visible, path, may]);

  return (
    <div className="shell">
      <div className="phone-bar">
        <Button kind="quiet" icon="menu" label="Menu" aria-expanded={menu} onClick={() => setMenu(!menu)} />
        <strong>{found?.page.title ?? 'Skillbox'}</strong>
        <Button kind="quiet" icon="search" label="Find" onClick={() => setPalette(true)} />
      </div>
      {menu && <button type="button" className="nav-shade" aria-label="Close the menu" onClick={() => setMenu(false)} />}
      <Nav pages={visible} current={found?.page} open={menu} onFind={() => setPalette(true)} />
      <main className="stage">
        {!reachable && (
          <div className="offline" role="status">
            The box does not answer. What you see may be old; it goes on by itself.
          </div>
        )}
        {found ? <View key={found.route.path} route={found.route} params={found.params} /> : <Nowhere />}
      </main>
      <Works />
      {palette && <Palette pages={visible} onClose={() => setPalette(false)} />}
    </div>
  );
}

const views = new Map<Route, LazyExoticComponent<(props: ViewProps) => ReactNode>>();

function View({ route, params }: { readonly route: Route; readonly params: Record<string, string> }) {
  let Lazy = views.get(route);
  if (!Lazy) {
    Lazy = lazy(() => route.view().catch(away)) as LazyExoticComponent<(props: ViewProps) => ReactNode>;
    views.set(route, Lazy);
  }
  return (
    <Boundary>
      <Suspense fallback={<Loading />}>
        <Lazy params={params} />
      </Suspense>
    </Boundary>
  );
}

/** The code of a page comes when it is first looked at: then the box may be away, or another version may be there. */
function away(error: unknown): never {
  const failure = new ConnectionError(location.origin, 'this page could not be loaded', error);
  noteFailure(failure);
  throw failure;
}

/** A fault of one page is not the end of the others. */
class Boundary extends Component<{ readonly children: ReactNode }, { failure?: Failure }> {
  override state: { failure?: Failure } = {};

  static getDerivedStateFromError(error: unknown): { failure: Failure } {
    return { failure: failureOf(error) };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (!failure) return this.props.children;
    return (
      <>
        <FailureState failure={failure} retry={() => location.reload()} />
        {failure.code === 'unreachable' && <LoadOnReturn />}
      </>
    );
  }
}

const loadedKey = 'skillbox.loaded-anew';
const loadAgainMs = 30_000;

/** Browsers remember that code could not be loaded: only loading the whole anew helps. Not again and again, if that does not help either. */
function LoadOnReturn() {
  const reachable = useReachable();
  useEffect(() => {
    if (!reachable || Date.now() - Number(sessionStorage.getItem(loadedKey)) < loadAgainMs) return;
    sessionStorage.setItem(loadedKey, String(Date.now()));
    location.reload();
  }, [reachable]);
  return null;
}

function Nowhere() {
  return (
    <Page title="Nothing here">
      <Empty title="There is no such page" icon="search">
        <p>It may have moved, or your key may not see it.</p>
        <Button onClick={() => navigate('/')}>To the overview</Button>
      </Empty>
    </Page>
  );
}

/** Ctrl+K opens the palette, g and a letter goes to a page, / goes to what filters. */
function useShortcuts(openPalette: () => void): void {
  const { may } = useBox();
  useEffect(() => {
    let going = 0;
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      const target = event.target as HTMLElement;
      const typing = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest('.xterm, dialog');
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('.page input[type="search"]');
        if (field) event.preventDefault();
        field?.focus();
        return;
      }
      const wanted = Date.now() - going < 1000 && pages.find(({ shortcut, scope }) => shortcut === event.key && may(scope));
      going = event.key === 'g' ? Date.now() : 0;
      if (wanted) navigate(wanted.routes[0]?.path ?? '/');
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [openPalette, may]);
}
