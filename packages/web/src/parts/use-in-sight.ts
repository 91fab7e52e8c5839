import { type RefObject, useEffect, useRef } from 'react';

/** For a row of choices that is wider than a phone: the chosen one is scrolled into sight, and nothing else moves. */
export function useInSight<T extends HTMLElement>(selector: string, chosen: string | undefined): RefObject<T | null> {
  const row = useRef<T>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice, another place.
  useEffect(() => {
    const element = row.current;
    if (!element) return;
    const show = (): void => {
      const item = element.querySelector(selector)?.getBoundingClientRect();
      if (!item) return;
      const { left, right } = element.getBoundingClientRect();
      if (item.left < left) element.scrollLeft -= left - item.left;
      else if (item.right > right) element.scrollLeft += item.right - right;
    };
    // Tells of the first size too.
    const observer = new ResizeObserver(show);
    observer.observe(element);
    return () => observer.disconnect();
  }, [selector, chosen]);
  return row;
}
