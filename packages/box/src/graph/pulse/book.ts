/** What pulse knows and tells: its state, kept on disk, and the events it writes to the runtime log. */

import { diskTrouble } from '../../disk-trouble.ts';
import { recordActivity } from '../runtime-log.ts';
import { type PulseState, writePulseState } from './state.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] extends Readonly<Record<string, infer V>> ? Record<string, V> : T[K] };

export interface Book {
  readonly state: Writable<PulseState>;
  emit(type: string, subject: string, data?: Readonly<Record<string, unknown>>): void;
  /** Something of the state changed: it is written in a moment, together with what else changes until then. */
  changed(): void;
  /** Written now. */
  flush(): void;
}

const gatherMs = 50;

export function openBook(
  stateRoot: string,
  before: PulseState,
  say: (text: string) => void,
  /** An event was written. */
  emitted: () => void = () => undefined,
): Book {
  const state: Writable<PulseState> = structuredClone(before) as Writable<PulseState>;
  let timer: NodeJS.Timeout | undefined;

  /** A full disk must not end the supervisor: services matter more than the record of them. */
  const tolerating = (what: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      const trouble = diskTrouble(error) ?? error;
      say(`${what}: ${(trouble as Error).message}`);
    }
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    state.updated_at = new Date().toISOString();
    state.next_attempts = Object.fromEntries(Object.entries(state.fallen).map(([id, { nextAt }]) => [id, new Date(nextAt).toISOString()]));
    state.given_up = Object.keys(state.falls)
      .filter((id) => state.falls[id]?.givenUp)
      .sort();
    tolerating('the state of pulse could not be written', () => writePulseState(stateRoot, state));
  };
  const changed = (): void => {
    timer ??= setTimeout(flush, gatherMs);
  };

  return {
    state,
    changed,
    flush,
    emit(type, subject, data = {}) {
      state.events_emitted++;
      say(`${type} ${subject} ${JSON.stringify(data)}`);
      tolerating('the runtime log could not be written', () => recordActivity(stateRoot, type, subject, data));
      changed();
      emitted();
    },
  };
}
