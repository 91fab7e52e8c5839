/** Servers inside, and links to them that work without a key for an hour. */

import type { PreviewLink, Sandbox } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { formatTime } from '../../parts/format.ts';
import { Empty, Show } from '../../parts/states.tsx';
import { complain } from '../../parts/toasts.tsx';
import { type Listening, parseListening } from './listening.ts';

const refreshMs = 4000;

export function PortsTab({ sandbox }: { readonly sandbox: Sandbox }) {
  const { client, tenant, may } = useBox();
  const { files } = client.sandbox(sandbox.id);
  const [links, setLinks] = useState<Readonly<Record<number, PreviewLink>>>({});
  const ports = useLoad(
    `${tenant} ${sandbox.id} ports`,
    async (signal) => {
      const [four, six] = await Promise.all([
        files.readText('/proc/net/tcp', { signal }),
        // Where there is no IPv6 there is no such file.
        files.readText('/proc/net/tcp6', { signal }).catch(() => ''),
      ]);
      return withEndpoints(sandbox, parseListening(four, six));
    },
    { every: refreshMs },
  );
  const preview = async (port: number): Promise<void> => {
    try {
      const link = await client.sandbox(sandbox.id).previewLink(port);
      setLinks((before) => ({ ...before, [port]: link }));
      window.open(link.url, '_blank', 'noopener,noreferrer');
    } catch (error) {
      noteFailure(error);
      complain(failureOf(error));
    }
  };

  return (
    <div className="ports">
      <Show of={ports}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              title="Nothing listens in it"
              icon="link"
              command={`skillbox sandbox exec ${sandbox.id} --detach -- python3 -m http.server 8000`}
            >
              <p>A server that listens on a port of the sandbox shows up here.</p>
            </Empty>
          ) : (
            <table className="table">
              <thead>
                <tr>
                  <th className="right">Port</th>
                  <th>Listens on</th>
                  <th>Preview</th>
                </tr>
              </thead>
              <tbody>
                {all.map(({ port, address, service }) => (
                  <tr key={port}>
                    <td className="right mono">{port}</td>
                    <td>{service ?? address}</td>
                    <td>{may('sandboxes:use') && <Preview port={port} link={links[port]} onOpen={() => void preview(port)} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Show>
      {may('sandboxes:use') && <OtherPort links={links} known={ports.data ?? []} onOpen={(port) => void preview(port)} />}
    </div>
  );
}

interface Port extends Listening {
  readonly service?: string;
}

/** Those of the template come first; what they listen on is elsewhere. */
function withEndpoints({ endpoints }: Sandbox, found: readonly Listening[]): Port[] {
  const declared = endpoints.map(({ port, service }) => ({ port, address: '', service }));
  return [...declared, ...found.filter(({ port }) => !endpoints.some((each) => each.port === port))];
}

function Preview({ port, link, onOpen }: { readonly port: number; readonly link: PreviewLink | undefined; onOpen(): void }) {
  return (
    <span className="port-link">
      <Button icon="link" label={`Open port ${port} in a new tab`} onClick={onOpen}>
        Open
      </Button>
      {link && (
        <>
          <a href={link.url} target="_blank" rel="noopener noreferrer" title={`Works without a key until ${formatTime(link.expires_at)}`}>
            {link.url.replace(/\?.*$/, '')}
          </a>
          <CopyButton text={link.url} label="Copy the link" />
        </>
      )}
    </span>
  );
}

function OtherPort({
  links,
  known,
  onOpen,
}: {
  readonly links: Readonly<Record<number, PreviewLink>>;
  readonly known: readonly Port[];
  onOpen(port: number): void;
}) {
  const [port, setPort] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (port !== '') onOpen(Number(port));
  };
  const others = Object.keys(links)
    .map(Number)
    .filter((each) => !known.some((one) => one.port === each));
  return (
    <form className="run-line" onSubmit={submit}>
      <input
        className="input"
        type="number"
        min={1}
        max={65_535}
        aria-label="Another port"
        placeholder="Another port"
        value={port}
        onChange={(event) => setPort(event.target.value)}
      />
      <Button type="submit" icon="link" disabled={port === ''}>
        Open
      </Button>
      {others.map((each) => (
        <Preview key={each} port={each} link={links[each]} onOpen={() => onOpen(each)} />
      ))}
    </form>
  );
}
