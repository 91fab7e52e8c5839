/** Ctrl-C and SIGTERM: once to end in order, twice to leave at once. */

/** npx passes a Ctrl-C on that its child has already had from the terminal: what comes this close together is one. */
const sameMs = 500;

export interface Interrupts {
  stop(): void;
}

export function onInterrupt(first: () => void): Interrupts {
  let since: number | undefined;
  const handle = (signal: NodeJS.Signals): void => {
    if (since === undefined) {
      since = performance.now();
      first();
      return;
    }
    if (performance.now() - since > sameMs) process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, handle);
  return {
    stop() {
      for (const signal of signals) process.off(signal, handle);
    },
  };
}
