import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly title: string;
  readonly icon?: IconName;
  act(): void;
}

export function Menu({
  title,
  icon,
  items,
  label,
}: {
  readonly title?: string;
  readonly icon?: IconName;
  readonly items: readonly MenuItem[];
  readonly label?: string;
}) {
  const [open, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    holder.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    const outside = (event: Event): void => {
      if (!holder.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);

  const move = (event: KeyboardEvent): void => {
    const all = [...(holder.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'Escape') {
      setOpen(false);
      holder.current?.querySelector('button')?.focus();
    } else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it passes keys on to what it holds.
    <div className="menu-holder" ref={holder} onKeyDown={open ? move : undefined}>
      <Button
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        {...(icon && { icon })}
        {...(label !== undefined && { label })}
      >
        {title && (
          <>
            {title}
            <Icon name="chevron" />
          </>
        )}
      </Button>
      {open && (
        <div className="menu" role="menu">
          {items.map((item) => (
            <button
              key={item.title}
              type="button"
              role="menuitem"
              onClick={() => {
                setOpen(false);
                item.act();
              }}
            >
              {item.icon && <Icon name={item.icon} />}
              {item.title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
