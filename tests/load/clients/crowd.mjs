// A crowd that does not wait for answers before it asks again: each tenant sends so many runs a second, whatever becomes of them, over
// as many connections as that takes. Prints what each was answered: node crowd.mjs '{"url", "forMs", "seed", "tenants": [{"name", "key",
// "perSecond", "body"}], "most"}'. `most` requests are under way at once; what would be more is counted as unsent.

import { Agent, request } from 'node:http';

const { url, forMs, seed, tenants, most } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxSockets: most, scheduling: 'fifo' });
const random = generator(seed);
const answers = {};
let flying = 0;
let unsent = 0;
const count = (tenant, what) => {
  answers[tenant] ??= {};
  answers[tenant][what] = (answers[tenant][what] ?? 0) + 1;
};

const started = performance.now();
const queue = tenants.map((tenant) => ({ tenant, at: gap(tenant) }));
await new Promise((resolve) => {
  const timer = setInterval(() => {
    const now = performance.now() - started;
    for (const next of queue) {
      for (; next.at <= Math.min(now, forMs); next.at += gap(next.tenant)) {
        if (flying >= most) unsent += 1;
        else send(next.tenant);
      }
    }
    if (now < forMs || flying > 0) return;
    clearInterval(timer);
    resolve();
  }, 2);
});
agent.destroy();
console.log(JSON.stringify({ answers, unsent }));

/** Times between requests as of people who do not know of each other. */
function gap({ perSecond }) {
  return (-Math.log(1 - random()) * 1000) / perSecond;
}

function send({ name, key, body }) {
  const text = JSON.stringify(body);
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  flying += 1;
  let over = false;
  const end = (what) => {
    if (over) return;
    over = true;
    flying -= 1;
    count(name, what);
  };
  const sent = request(`${url}/v1/executions`, { method: 'POST', headers, agent }, (response) => {
    let got = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      got += chunk;
    });
    response.on('end', () => {
      const { status, error } = JSON.parse(got);
      end(response.statusCode === 200 ? `200 ${status}` : `${response.statusCode} ${error} retry ${response.headers['retry-after']}`);
    });
    response.on('error', (error) => end(`broken ${error.code}`));
  });
  // A connection that the server closed while it was idle is no answer that was withheld: nothing had been asked on it.
  sent.on('error', (error) => end(sent.reusedSocket && error.code === 'ECONNRESET' ? 'stale connection' : `broken ${error.code}`));
  sent.end(text);
}

/** The same numbers for the same seed (mulberry32). */
function generator(start) {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
