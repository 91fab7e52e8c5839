import type { Sandbox } from '@skillbox/sdk';
import { Icon } from '../../parts/icon.tsx';

/** Each candidate, and why it was taken or passed over. */
export function RouteList({ route }: { readonly route: Sandbox['route'] }) {
  if (route.length === 0) return <span className="hint">No candidate was judged yet.</span>;
  return (
    <ol className="route">
      {route.map(({ provider, taken, reason }) => (
        <li key={`${provider} ${reason}`} className={taken ? 'taken' : undefined}>
          <Icon name={taken ? 'check' : 'close'} />
          <strong>{provider}</strong>
          <span>
            {taken ? 'taken' : 'passed over'}: {reason}
          </span>
        </li>
      ))}
    </ol>
  );
}
