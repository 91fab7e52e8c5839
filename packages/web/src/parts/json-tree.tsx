/** JSON that opens and closes. Only what is open exists, so that a large one does not hurt. */

import { useState } from 'react';
import { CopyButton } from './copy.tsx';

const shown = 100;
const longText = 2000;

export function JsonTree({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <div className="json" role="group" aria-label={label} tabIndex={0}>
      <div className="corner">
        <CopyButton text={() => JSON.stringify(value, null, 2) ?? ''} label={`Copy ${label} as JSON`} />
      </div>
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ name, value, depth }: { readonly name?: string; readonly value: unknown; readonly depth: number }) {
  const inner = childrenOf(value);
  const [open, setOpen] = useState(depth < 2 && (inner?.length ?? 0) <= shown);
  const [most, setMost] = useState(shown);
  const title = name === undefined ? null : <span className="name">{name}: </span>;
  if (!inner) {
    return (
      <div>
        {title}
        <Plain value={value} />
      </div>
    );
  }
  const [before, after] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (inner.length === 0) {
    return (
      <div>
        {title}
        <span className="count">{before + after}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="twist" aria-expanded={open} aria-label={open ? 'Close' : 'Open'} onClick={() => setOpen(!open)}>
        {open ? '▾' : '▸'}
      </button>
      {title}
      <span className="count">
        {before}
        {!open && ` ${inner.length} ${after}`}
      </span>
      {open && (
        <ul>
          {inner.slice(0, most).map(([key, each]) => (
            <li key={key}>
              <Value name={key} value={each} depth={depth + 1} />
            </li>
          ))}
          {inner.length > most && (
            <li>
              <button type="button" className="more" onClick={() => setMost(most * 10)}>
                {inner.length - most} more
              </button>
            </li>
          )}
        </ul>
      )}
      {open && <span className="count">{after}</span>}
    </div>
  );
}

function Plain({ value }: { readonly value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={value === null ? 'null' : typeof value}>{String(value)}</span>;
  const cut = !whole && value.length > longText;
  return (
    <span className="string">
      {JSON.stringify(cut ? value.slice(0, longText) : value)}
      {cut && (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          {value.length - longText} more characters
        </button>
      )}
    </span>
  );
}

function childrenOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (Array.isArray(value)) return value.map((each, at) => [String(at), each] as const);
  if (typeof value === 'object' && value !== null) return Object.entries(value);
  return undefined;
}
