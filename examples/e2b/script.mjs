// A script for E2B's cloud, as anybody would write it. Against a box only the environment differs:
//   E2B_API_URL=<box>/e2b E2B_SANDBOX_URL=<box>/e2b E2B_API_KEY=<key> node examples/e2b/script.mjs

import { Sandbox } from 'e2b';

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { example: 'script' }, envs: { ANSWER: '42' } });

await sandbox.files.write('hello.py', 'import os\nprint("python says", os.environ["ANSWER"])\n');
const { stdout } = await sandbox.commands.run('python3 hello.py');
console.log(stdout.trim());

await sandbox.commands.run('for i in 1 2 3; do echo tick $i; sleep 0.1; done', {
  onStdout: (text) => void process.stdout.write(text),
});

await sandbox.files.write('site/index.html', 'served from inside');
const server = await sandbox.commands.run('python3 -m http.server 8000 --directory site', { background: true });

// A wildcard domain gives each port a host name; without one the box serves it under /preview/, with the key.
const preview = process.env.E2B_PREVIEW_URL
  ? `${process.env.E2B_PREVIEW_URL}/${sandbox.sandboxId}/8000/`
  : `https://${sandbox.getHost(8000)}/`;
console.log('fetched:', await fetchWhenUp(preview));
await server.kill();

await sandbox.files.write('note.txt', 'written before');
await sandbox.pause();
const resumed = await Sandbox.connect(sandbox.sandboxId);
console.log('after the pause:', await resumed.files.read('note.txt'));

console.log('killed:', await resumed.kill());

async function fetchWhenUp(url) {
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${process.env.E2B_API_KEY}` } });
    if (response.ok) return (await response.text()).trim();
    if (attempt === 50) throw new Error(`${url} answers ${response.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
