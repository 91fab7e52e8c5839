/** What a page tells the shell about itself. Each folder beside this file has one, in its page.ts; nothing else knows the pages. */

import type { Client } from '@skillbox/sdk';
import type { ComponentType } from 'react';
import type { Scope } from '../box/box.ts';
import type { IconName } from '../parts/icon.tsx';

export interface ViewProps {
  /** From the address: `/executions/:id` gives id. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Route {
  readonly path: string;
  /** Loaded when somebody goes there. */
  readonly view: () => Promise<{ readonly default: ComponentType<ViewProps> }>;
  /** When it needs another scope than the page. */
  readonly scope?: Scope;
}

export interface PaletteEntry {
  readonly title: string;
  /** Where it leads, within the dashboard. */
  readonly to: string;
  readonly note?: string;
  readonly scope?: Scope;
}

export interface PageInfo {
  readonly title: string;
  readonly icon: IconName;
  /** Place in the navigation, from the top. */
  readonly order: number;
  /** Who lacks it, or all of several, does not see the page. `any` for everybody who is signed in. */
  readonly scope: Scope | 'any' | readonly Scope[];
  /** The first is where the navigation leads. */
  readonly routes: readonly Route[];
  /** Press g, then this. */
  readonly shortcut?: string;
  /** More places of it for the command palette. */
  readonly entries?: readonly PaletteEntry[];
  /** What of the box fits these words, for the command palette. */
  readonly find?: (client: Client, words: string, signal: AbortSignal) => Promise<PaletteEntry[]>;
  /** Commands of the registry that have a place on this page; a test compares all of them with the registry. */
  readonly commands: readonly string[];
}
