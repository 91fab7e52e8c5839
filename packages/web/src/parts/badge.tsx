export type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'plain';

const tones: Readonly<Record<string, Tone>> = {
  success: 'good',
  ready: 'good',
  available: 'good',
  ok: 'good',
  failed: 'bad',
  timeout: 'bad',
  running: 'busy',
  queued: 'busy',
  provisioning: 'busy',
  building: 'busy',
  destroying: 'busy',
  paused: 'warn',
  cancelled: 'warn',
  degraded: 'warn',
};

export const toneOf = (state: string): Tone => tones[state] ?? 'plain';

export function Badge({ text, tone = toneOf(text) }: { readonly text: string; readonly tone?: Tone }) {
  return <span className={`badge ${tone}`}>{text}</span>;
}
