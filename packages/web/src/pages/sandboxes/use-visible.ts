import { useSyncExternalStore } from 'react';

const subscribe = (changed: () => void): (() => void) => {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
};

/** Whether somebody can see the page: a forgotten tab must not keep a sandbox from being idle. */
export const useVisible = (): boolean => useSyncExternalStore(subscribe, () => document.visibilityState === 'visible');
