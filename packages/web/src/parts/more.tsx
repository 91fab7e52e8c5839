import type { MoreLoaded } from '../box/use-more.ts';
import { Button } from './button.tsx';
import { FailureNote } from './states.tsx';

/** Below a list that goes on. */
export function More<T>({ of, title = 'More' }: { readonly of: MoreLoaded<T>; readonly title?: string }) {
  if (!of.more) return null;
  return (
    <div className="list-more">
      <FailureNote failure={of.moreFailure} />
      <Button busy={of.loading} onClick={of.more}>
        {title}
      </Button>
    </div>
  );
}
