import type { Webhook } from '@skillbox/sdk';
import { Badge } from '../../parts/badge.tsx';

export function HookState({ of }: { readonly of: Webhook }) {
  return (
    <>
      <Badge text={of.state} tone={of.state === 'ok' ? 'good' : 'bad'} />
      {of.error && <div className="faint wrap">{of.error}</div>}
    </>
  );
}
