import { expect, it } from 'vitest';
import { bashRequest, hostProcesses, useInside } from './inside.ts';

const inside = useInside();

/** Leaves a child that is in no group of the program, and goes on with this after the program has ended. */
const daemon = (work: string): string => `
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    for signal_number in range(1, 32):
        if signal_number not in (9, 19, 17): signal.signal(signal_number, signal.SIG_IGN)
    os.close(1); os.close(2)
${work}
    os._exit(0)
os.wait()
`;

it('follows no link that a daemon swaps in while files are collected', async () => {
  // Fifty files, each of which is a file or a link to what must not leave, changed as fast as one process can.
  const work = `
    names = ["/sandbox/out/files/%d" % index for index in range(50)]
    while True:
        for name in names:
            os.symlink("/etc/passwd", name + ".new"); os.rename(name + ".new", name)
            with open(name + ".new", "w") as file: file.write("plain")
            os.rename(name + ".new", name)`;
  for (let round = 0; round < 5; round += 1) {
    const run = await inside.run('python', `${daemon(work)}\ntime.sleep(0.05)`);
    expect(run.status).toBe('success');
    // A plain file, or one that was being written when its writer died.
    expect(run.files_list.map(({ size }) => size).filter((size) => size !== 5 && size !== 0)).toEqual([]);
  }
});

it('has ended every process before the first file is read', async () => {
  const mark = `42.${process.pid}`;
  let aliveAtFile: unknown = 'no file came';
  const script = `setsid nohup sleep ${mark} & (setsid sleep ${mark} &); echo x > out/files/x`;
  const onArtifact = async (): Promise<void> => {
    aliveAtFile = hostProcesses(mark);
  };
  const result = await inside.box.box.provider.runOnce(bashRequest(script, { onArtifact }));
  expect(result).toMatchObject({ end: 'exited', exitCode: 0 });
  expect(aliveAtFile).toEqual([]);
});
