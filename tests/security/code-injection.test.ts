import { expect, it } from 'vitest';
import { useInside } from './inside.ts';

const inside = useInside();

it('refuses a skill whose own env changes how the interpreter starts', async () => {
  const push = (variable: string) => {
    const name = `own-env-${variable.toLowerCase().replaceAll('_', '-')}`;
    const head = `---\nname: ${name}\nversion: 1.0.0\ndescription: X.\nlang: bash\nenv:\n  ${variable}: /sandbox/scripts/evil\n---\n`;
    return inside.box.push({ 'SKILL.md': head, 'main.sh': 'true\n' });
  };
  expect((await push('HARMLESS')).status).toBe(201);
  for (const name of ['LD_PRELOAD', 'PYTHONPATH', 'NODE_OPTIONS', 'BASH_ENV']) {
    const { status, body } = await push(name);
    expect({ name, status, error: body.error }).toEqual({ name, status: 422, error: 'invalid_skill' });
  }
});

it('takes no preload, configuration or start file from what a caller or an earlier run wrote', async () => {
  const input = Buffer.from('throw new Error("injected")').toString('base64');
  const files = { 'sitecustomize.py': input, '.npmrc': input, '.bashrc': input, 'usercustomize.py': input };
  for (const lang of ['python', 'node', 'bash'] as const) {
    const run = await inside.run(lang, lang === 'bash' ? 'echo fine' : lang === 'node' ? 'console.log("fine")' : 'print("fine")', {
      files,
    });
    expect(run).toMatchObject({ status: 'success', logs: 'fine\n' });
  }
  expect(await inside.bash('ls -A /tmp /dev/shm; test -e /etc/ld.so.preload && echo preload; true')).toBe('/dev/shm:\n\n/tmp:');
});

it('keeps what a run writes from the next one', async () => {
  await inside.bash('echo evil > /tmp/sitecustomize.py; echo evil > /dev/shm/x; echo evil > /sandbox/x; touch /sandbox/out/files/x');
  expect(await inside.bash('find /tmp /dev/shm /sandbox -type f | sort')).toBe(
    '/sandbox/input.json\n/sandbox/scripts/SKILL.md\n/sandbox/scripts/main.sh',
  );
});

it('cannot change the files of its skill', async () => {
  const attempts =
    'echo x >> scripts/main.sh; echo x > scripts/new; rm scripts/main.sh; mv scripts gone; chmod 777 scripts; rmdir scripts; ln -s /tmp scripts/link';
  const { logs } = await inside.run('bash', `exec 2>&1; ${attempts}; cat scripts/main.sh; ls scripts`);
  expect(logs).toContain('eval "$PROBE"\nSKILL.md\nmain.sh\n');
  expect(logs?.match(/Read-only file system|Device or resource busy/g)?.length).toBe(6);
  expect(await inside.bash('echo still')).toBe('still');
});
