/** To the clipboard, with a sign that it worked. */

import { useEffect, useState } from 'react';
import { Button } from './button.tsx';

export function CopyButton({ text, label = 'Copy' }: { readonly text: string | (() => string); readonly label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async (): Promise<void> => setDone(await copyText(typeof text === 'string' ? text : text()));
  return <Button kind="quiet" icon={done ? 'check' : 'copy'} label={done ? 'Copied' : label} onClick={() => void copy()} />;
}

/** Where the page is not served securely the browser has no clipboard for it: then the old way. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not permitted: the other way may be.
    }
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

/** A line to type in a shell. */
export function CommandLine({ text }: { readonly text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  );
}

export function CodeBlock({ text }: { readonly text: string }) {
  return (
    <div className="code-block">
      <pre tabIndex={0}>{text}</pre>
      <span className="copy">
        <CopyButton text={text} />
      </span>
    </div>
  );
}
