/** Dark or light: as the system has it, until somebody chooses. */

import { useSyncExternalStore } from 'react';

export type Theme = 'dark' | 'light';

const place = 'skillbox.theme';
const system = matchMedia('(prefers-color-scheme: light)');
const listeners = new Set<() => void>();

const current = (): Theme => {
  const chosen = localStorage.getItem(place);
  if (chosen === 'dark' || chosen === 'light') return chosen;
  return system.matches ? 'light' : 'dark';
};

export function applyTheme(): void {
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener();
}
system.addEventListener('change', applyTheme);

export function toggleTheme(): void {
  localStorage.setItem(place, current() === 'dark' ? 'light' : 'dark');
  applyTheme();
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
