import { useEffect, useState } from 'react';

interface Props {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  onChange(value: string): void;
}

const pauseMs = 250;

/** Tells what was typed once there is a pause in it. `/` leads here from anywhere on the page. */
export function SearchField({ label, value, placeholder = label, onChange }: Props) {
  const [text, setText] = useState(value);
  // The address may change without typing: Back, or a link.
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the pause.
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      className="input search"
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ target }) => setText(target.value)}
      onKeyDown={({ key }) => key === 'Enter' && onChange(text)}
    />
  );
}
