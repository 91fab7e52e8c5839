/**
 * A list of any length of which only what is seen exists. Browsers cannot scroll over more than some twenty million pixels: a longer
 * list is scrolled over faster than it moves.
 */

import { type ReactNode, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';

const tallest = 12_000_000;
/** Rows beyond what is seen, above and below. */
const spare = 8;

export interface VirtualHandle {
  scrollToRow(row: number): void;
  /** Whether the last row is in sight. */
  atEnd(): boolean;
}

interface Props {
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ReactNode;
  readonly label: string;
  readonly className?: string;
  /** Stays at the end while it grows. */
  readonly follow?: boolean;
  readonly handle?: Ref<VirtualHandle>;
  onRange?(first: number, last: number): void;
  /** Told when the reader scrolls by hand. */
  onScrolled?(atEnd: boolean): void;
}

export function Virtual({ count, rowHeight, row, label, className = '', follow = false, handle, onRange, onScrolled }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const whole = count * rowHeight;
  const tall = Math.min(whole, tallest);

  /** From what the scroll bar says to where in the list that is, and back. */
  const ratio = tall > view.height ? (whole - view.height) / (tall - view.height) : 1;
  const place = view.top * ratio;
  const first = Math.max(0, Math.floor(place / rowHeight) - spare);
  const last = Math.min(count - 1, Math.ceil((place + view.height) / rowHeight) + spare);

  /** The browser moves the rows by itself: there is work only when they come to an end. */
  const stepOf = (top: number): number => top - (top % (rowHeight * (spare / 2)));

  const atEnd = (): boolean => {
    const element = scroller.current;
    return !element || element.scrollTop + element.clientHeight >= element.scrollHeight - rowHeight * 1.5;
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = (): void => setView((before) => ({ ...before, height: element.clientHeight }));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves when the count does.
  useLayoutEffect(() => {
    if (follow && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [follow, count]);

  useEffect(() => onRange?.(first, last), [onRange, first, last]);

  useImperativeHandle(handle, () => ({
    scrollToRow(index) {
      const middle = Math.max(0, index * rowHeight - view.height / 2);
      if (scroller.current) scroller.current.scrollTop = middle / ratio;
    },
    atEnd,
  }));

  const rows: ReactNode[] = [];
  for (let index = first; index <= last; index += 1) {
    const top = view.top + index * rowHeight - place;
    rows.push(
      <div key={index} className="row" style={{ height: rowHeight, transform: `translateY(${top}px)` }}>
        {row(index)}
      </div>,
    );
  }
  return (
    <div ref={scroller} className={`virtual ${className}`} role="group" tabIndex={0} aria-label={label} onScroll={scrolled}>
      <div className="whole" style={{ height: tall }}>
        {rows}
      </div>
    </div>
  );

  function scrolled(): void {
    const element = scroller.current;
    if (!element) return;
    const next = { top: ratio === 1 ? stepOf(element.scrollTop) : element.scrollTop, height: element.clientHeight };
    setView((before) => (before.top === next.top && before.height === next.height ? before : next));
    onScrolled?.(atEnd());
  }
}
