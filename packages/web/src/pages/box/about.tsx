/** The model of the box: where things lie, inside and on the host. */

import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Card, Facts } from '../../parts/page.tsx';
import { Show } from '../../parts/states.tsx';

export function About() {
  const { client } = useBox();
  const found = useLoad('describe', (signal) => client.runtime.describe({ signal }));
  return (
    <Show of={found}>
      {(model) => (
        <>
          <Card title={model.name}>
            <div className="inside">
              <Facts
                of={[
                  ['Purpose', model.purpose],
                  ['Version', model.version],
                  ['Workspace', `${model.runtime.mode}, made by ${model.runtime.provider}, user ${model.runtime.agent_user}`],
                  ['Network', model.runtime.network],
                  [
                    'Ports',
                    Object.entries(model.ports)
                      .map(([name, port]) => `${name} ${port}`)
                      .join(', ') || null,
                  ],
                  ['Manifest', model.manifest ?? 'none: built-in defaults'],
                  ['State root', model.state_root],
                  ['Clients', model.clients.join(', ') || 'none'],
                  ['Profiles', model.profiles.join(', ')],
                ]}
              />
            </div>
          </Card>
          <Card title="Paths">
            <div className="scroll-x" tabIndex={0} role="group" aria-label="Paths">
              <table className="table">
                <thead>
                  <tr>
                    <th>Variable</th>
                    <th>In the workspace</th>
                    <th>On the host</th>
                  </tr>
                </thead>
                <tbody>
                  {model.paths.map(({ variable, path, host_path }) => (
                    <tr key={variable}>
                      <td className="mono">{variable}</td>
                      <td className="mono">{path}</td>
                      <td className="mono">{host_path}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Card>
        </>
      )}
    </Show>
  );
}
