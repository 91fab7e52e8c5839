/** What was started in the sandbox, its output as it comes, and a line to start more. */

import type { Program, SandboxHandle } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';
import { plainName } from './plain-name.ts';
import { ProgramOutput } from './program-output.tsx';

const refreshMs = 3000;

export function ProgramsTab({ id }: { readonly id: string }) {
  const { client, tenant, may } = useBox();
  const sandbox = client.sandbox(id);
  const [query, change] = useQuery();
  const chosen = Number(query.get('program')) || undefined;
  const programs = useLoad(`${tenant} ${id} programs`, (signal) => sandbox.programs({ signal }), { every: refreshMs });
  const open = (program: number): void => change({ program: String(program) });
  const shown = programs.data?.find(({ program_id }) => program_id === chosen);

  return (
    <div className="programs">
      {may('sandboxes:use') && (
        <RunForm
          sandbox={sandbox}
          onStarted={(program) => {
            open(program);
            programs.reload();
          }}
        />
      )}
      <Show of={programs}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="Nothing was started in it" icon="play" command={`skillbox sandbox exec ${id} -- ls -la`} />
          ) : (
            <ProgramTable sandbox={sandbox} programs={all} chosen={chosen} onOpen={open} onChanged={programs.reload} />
          )
        }
      </Show>
      {chosen !== undefined && (
        <ProgramOutput
          key={chosen}
          sandbox={sandbox}
          program={chosen}
          running={shown?.ended === false}
          onEnded={programs.reload}
          onClose={() => change({ program: '' })}
        />
      )}
    </div>
  );
}

function RunForm({ sandbox, onStarted }: { readonly sandbox: SandboxHandle; onStarted(program: number): void }) {
  const [line, setLine] = useState('');
  const [stdin, setStdin] = useState(false);
  const run = useAct(async () => {
    const { program } = await sandbox.start(line, { stdin });
    setLine('');
    onStarted(program);
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (line.trim() !== '') void run.run();
  };
  return (
    <form className="run-line" onSubmit={submit}>
      <input
        className="input mono"
        aria-label="Command"
        placeholder="A line for bash, such as python3 -V"
        autoComplete="off"
        spellCheck={false}
        value={line}
        onChange={(event) => setLine(event.target.value)}
      />
      <label className="check">
        <input type="checkbox" checked={stdin} onChange={(event) => setStdin(event.target.checked)} />
        keep stdin open
      </label>
      <Button type="submit" kind="main" icon="play" busy={run.busy} disabled={line.trim() === ''}>
        Run
      </Button>
      <FailureNote failure={run.failure} />
    </form>
  );
}

interface TableProps {
  readonly sandbox: SandboxHandle;
  readonly programs: readonly Program[];
  readonly chosen: number | undefined;
  onOpen(program: number): void;
  onChanged(): void;
}

function ProgramTable({ sandbox, programs, chosen, onOpen, onChanged }: TableProps) {
  const { may } = useBox();
  const end = async (program: number, signal: string): Promise<void> => {
    try {
      await sandbox.program(program).kill(signal);
      say(`Sent ${signal} to program ${program}.`);
      onChanged();
    } catch (error) {
      noteFailure(error);
      complain(failureOf(error));
    }
  };
  return (
    <div className="program-table" tabIndex={0} role="region" aria-label="Programs">
      <table className="table">
        <thead>
          <tr>
            <th className="right">No.</th>
            <th>Command</th>
            <th>State</th>
            <th className="wide right">Process</th>
            <th className="wide right">Started</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {[...programs].reverse().map((program) => (
            <tr key={program.program_id} className={program.program_id === chosen ? 'chosen' : undefined}>
              <td className="right">{program.program_id}</td>
              <td className="program-line">
                <button type="button" className="file-open mono" onClick={() => onOpen(program.program_id)}>
                  <span>{plainName(lineOf(program))}</span>
                </button>
              </td>
              <td>
                <Badge {...stateOf(program)} />
              </td>
              <td className="wide right">{program.pid}</td>
              <td className="wide right nowrap">
                <Ago time={program.started_at} />
              </td>
              <td className="right nowrap">
                {!program.ended && may('sandboxes:use') && (
                  <>
                    <Button
                      kind="quiet"
                      icon="stop"
                      label={`End program ${program.program_id}`}
                      onClick={() => void end(program.program_id, 'SIGTERM')}
                    />
                    <Button
                      kind="quiet"
                      icon="close"
                      label={`Kill program ${program.program_id}`}
                      onClick={() => void end(program.program_id, 'SIGKILL')}
                    />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A line for bash is shown as it was typed. */
function lineOf({ argv }: Program): string {
  const [shell = '', flag = '', line] = argv;
  return /\/(ba)?sh$/.test(shell) && /^-l?c$/.test(flag) && line !== undefined ? line : argv.join(' ');
}

function stateOf({ ended, exit_code, signal }: Program): { readonly text: string; readonly tone: 'good' | 'bad' | 'busy' } {
  if (!ended) return { text: 'running', tone: 'busy' };
  if (exit_code === 0) return { text: 'ended', tone: 'good' };
  return { text: exit_code === null ? (signal ?? 'ended') : `exit ${exit_code}`, tone: 'bad' };
}
