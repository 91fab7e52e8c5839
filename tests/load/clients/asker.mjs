// Asks the same few things again and again, one after the other, and prints how long each answer took and what it was:
// node asker.mjs '{"url", "forMs", "everyMs", "asks": [{"name", "path", "headers", "body"}]}'.
// In a process of its own, so that it does not wait behind the clients that make the load.

import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const { url, forMs, everyMs, asks } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true });
const found = Object.fromEntries(asks.map(({ name }) => [name, { latencies: [], answers: {} }]));

for (const deadline = performance.now() + forMs; performance.now() < deadline; ) {
  for (const ask of asks) {
    const { latencies, answers } = found[ask.name];
    const asked = performance.now();
    const what = await send(ask);
    const ms = performance.now() - asked;
    answers[what] = (answers[what] ?? 0) + 1;
    if (/^2\d\d( success)?$/.test(what)) latencies.push(Number(ms.toFixed(2)));
    await delay(Math.max(1, everyMs - ms));
  }
}
agent.destroy();
console.log(JSON.stringify(found));

/** The status, with how a run ended or why it was refused. */
function send({ path, headers = {}, body }) {
  return new Promise((resolve) => {
    const text = body && JSON.stringify(body);
    const more = text ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } : {};
    const sent = request(url + path, { method: text ? 'POST' : 'GET', headers: { ...headers, ...more }, agent }, (response) => {
      let got = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        got += chunk;
      });
      response.on('end', () => resolve(`${response.statusCode}${text ? ` ${ending(got)}` : ''}`));
    });
    sent.on('error', (error) => resolve(`broken ${error.code}`)).end(text);
  });
}

function ending(text) {
  const { status, error } = JSON.parse(text);
  return status ?? error;
}
