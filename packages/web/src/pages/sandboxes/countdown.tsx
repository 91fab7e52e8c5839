import { useEffect, useState } from 'react';

/** Whole seconds until a moment, told anew each second while somebody looks. */
function useSecondsUntil(time: string): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.round((Date.parse(time) - now) / 1000));
}

export function Countdown({ until }: { readonly until: string }) {
  const seconds = useSecondsUntil(until);
  return (
    <time
      className={seconds < 120 ? 'countdown soon' : 'countdown'}
      dateTime={until}
      title={`Ends ${new Date(until).toLocaleString('en-GB')}`}
    >
      {formatLeft(seconds)}
    </time>
  );
}

export function formatLeft(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}
