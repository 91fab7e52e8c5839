import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { type DoorName, throughEveryDoor } from './doors.ts';
import { besideSleeper, guestOf, readProc, useInside } from './inside.ts';

const secret = `secret-${randomBytes(8).toString('hex')}`;
process.env.SKILLBOX_THREAT_SECRET = secret;
const inside = useInside();
afterAll(() => {
  delete process.env.SKILLBOX_THREAT_SECRET;
});

const skill = ['PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'SANDBOX_FILES_DIR', 'SANDBOX_INPUT', 'SANDBOX_INPUT_DIR', 'SANDBOX_OUTPUT'];
const basic = ['HOME', 'LANG', 'PATH'];
/** Made by the shell in between, where there is one. */
const shell = ['PWD', 'SHLVL'];
const known: Record<DoorName, readonly string[]> = {
  'one-shot': [...basic, ...skill, 'SKILL_INSTRUCTIONS'],
  'warm one-shot': [...basic, ...skill, 'SKILL_INSTRUCTIONS'],
  exec: [...basic, 'USER'],
  terminal: [...basic, 'USER', 'TERM', ...shell],
  'E2B commands': [...basic, 'USER', ...shell, '_'],
  // The SDK sets LC_ALL.
  'E2B terminal': [...basic, 'USER', 'TERM', 'LC_ALL', ...shell],
};

throughEveryDoor(inside, (door) => {
  it('has only the variables of the contract and those of the caller', async () => {
    const env = { MINE: 'yes' };
    const expected = ['MINE', ...known[door.name]].sort();
    const fromPython = await door.python<string[]>('answer(sorted(os.environb and [name.decode() for name in os.environb]))', { env });
    // Python itself adds LC_CTYPE when it chooses the locale.
    expect(fromPython.filter((name) => name !== 'LC_CTYPE')).toEqual(expected);
    expect(await door.node('answer(Object.keys(process.env).sort())', { env })).toEqual(expected);
    expect(await door.bash('tr "\\0" "\\n" < /proc/$$/environ | grep -c "^SKILLBOX_" || true')).toBe('0');
  });

  it('finds no secret of the server in any process it can see', async () => {
    const found = await door.python<string[]>(`
found = []
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for file in ("environ", "cmdline"):
        try: text = open("/proc/%s/%s" % (pid, file), "rb").read()
        except PermissionError: continue
        if b"THREAT" + b"_SECRET" in text or b"${secret.slice(0, 8)}" + b"${secret.slice(8)}" in text: found.append(pid + "/" + file)
answer(found)`);
    expect(found).toEqual([]);
  });

  it('gives pid 1 an environment without anything of the server', async () => {
    const environment = await besideSleeper(
      (code) => door.run('bash', code),
      ({ pid }) => readProc(guestOf(pid).pid, 'environ'),
    );
    expect(environment.split('\0').filter((variable) => variable && !variable.startsWith('PWD='))).toEqual([]);
  });
});

it.each([
  'PATH',
  'HOME',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'PYTHONPATH',
  'PYTHONHOME',
  'PYTHONSTARTUP',
  'NODE_PATH',
  'NODE_OPTIONS',
  'BASH_ENV',
  'ENV',
  'IFS',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'SANDBOX_OUTPUT',
  'SANDBOX_ANYTHING',
  'SKILL_INSTRUCTIONS',
  'BASH_FUNC_ls%%',
  'A=B',
  '',
])('refuses a caller that sets %j', async (name) => {
  const { status, body } = await inside.box.json('/v1/executions', { body: { skill: 'probe-bash', env: { [name]: '/tmp/evil' } } });
  expect({ status, error: body.error }).toEqual({ status: 422, error: 'invalid_env' });
});
