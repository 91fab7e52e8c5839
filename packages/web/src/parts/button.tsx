import type { ButtonHTMLAttributes } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'> {
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly icon?: IconName;
  /** Shown on hover, and its name when there is no text. */
  readonly label?: string;
  readonly busy?: boolean;
}

export function Button({ kind = 'plain', icon, label, busy = false, children, disabled, type = 'button', ...rest }: Props) {
  const bare = children === undefined;
  return (
    <button
      {...rest}
      type={type}
      className={`button ${kind}${bare ? ' icon-only' : ''}`}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      title={label}
      {...(bare && { 'aria-label': label })}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
