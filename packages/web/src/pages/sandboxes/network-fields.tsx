import type { EgressRule, NetworkChoice } from '@skillbox/sdk';
import { Field } from '../../parts/field.tsx';

export interface NetworkWish {
  /** template: as it says. */
  readonly mode: 'template' | 'none' | 'allow';
  /** Hosts, one in a line. */
  readonly allow: string;
}

interface Props {
  readonly wish: NetworkWish;
  /** Whether more than nothing can be wished for. */
  readonly mayOpen: boolean;
  readonly templateSays: string;
  onChange(wish: NetworkWish): void;
}

export function NetworkFields({ wish, mayOpen, templateSays, onChange }: Props) {
  return (
    <>
      <Field label="Network">
        {(control) => (
          <select
            {...control}
            className="input"
            value={wish.mode}
            onChange={(event) => onChange({ ...wish, mode: event.target.value as NetworkWish['mode'] })}
          >
            <option value="template">as the template says ({templateSays})</option>
            <option value="none">none</option>
            {mayOpen && <option value="allow">only these hosts</option>}
          </select>
        )}
      </Field>
      {wish.mode === 'allow' && (
        <Field label="Hosts it may reach" hint="Such as example.com or *.example.com:8443, one in a line; none: what the template allows">
          {(control) => (
            <textarea
              {...control}
              className="input code"
              rows={3}
              value={wish.allow}
              onChange={(event) => onChange({ ...wish, allow: event.target.value })}
            />
          )}
        </Field>
      )}
    </>
  );
}

/** `kept`: rules that say more than a host, which have no place in the field. */
export function networkFrom({ mode, allow }: NetworkWish, kept: readonly EgressRule[] = []): NetworkChoice {
  const rules = [...kept, ...allow.split(/[\s,]+/).filter(Boolean)];
  if (mode !== 'allow') return { mode: 'none' };
  return { mode, ...(rules.length > 0 && { allow: rules }) };
}
