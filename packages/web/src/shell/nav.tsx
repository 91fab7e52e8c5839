import { useBox } from '../box/box.ts';
import icon from '../icon.svg';
import type { PageInfo } from '../pages/page.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../router.tsx';
import { TenantChoice } from './tenant-choice.tsx';
import { toggleTheme, useTheme } from './theme.ts';

interface Props {
  readonly pages: readonly PageInfo[];
  readonly current: PageInfo | undefined;
  readonly open: boolean;
  onFind(): void;
}

export function Nav({ pages, current, open, onFind }: Props) {
  const { self, tenant, may, signOut } = useBox();
  const theme = useTheme();
  return (
    <nav className={open ? 'nav open' : 'nav'} aria-label="Pages">
      <Link to="/" className="brand">
        <img src={icon} alt="" />
        Skillbox
      </Link>
      <button type="button" className="find" onClick={onFind}>
        <Icon name="search" />
        <span>Find</span>
        <kbd>Ctrl K</kbd>
      </button>
      {pages.map((page) => (
        <Link key={page.title} to={page.routes[0]?.path ?? '/'} className="place" aria-current={page === current ? 'page' : undefined}>
          <Icon name={page.icon} />
          {page.title}
        </Link>
      ))}
      <span className="rest" />
      <div className="who">
        <strong title={self.name}>{self.name}</strong>
        {may('admin') ? <TenantChoice /> : <span>{tenant}</span>}
        <div className="row">
          <Button
            kind="quiet"
            icon={theme === 'dark' ? 'sun' : 'moon'}
            label={theme === 'dark' ? 'Light colours' : 'Dark colours'}
            onClick={toggleTheme}
          />
          <Button kind="quiet" icon="out" onClick={() => signOut()}>
            Sign out
          </Button>
        </div>
      </div>
    </nav>
  );
}
