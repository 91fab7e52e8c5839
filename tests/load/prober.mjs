// Asks a server again and again whether it lives, and prints how long each answer took, as JSON: node prober.mjs URL MILLISECONDS.
// In a process of its own, so that it does not wait behind the clients that make the load.

import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const [, , url, forMs] = process.argv;
const latencies = [];
for (const deadline = performance.now() + Number(forMs); performance.now() < deadline; await delay(20)) latencies.push(await timed());
console.log(JSON.stringify(latencies));

function timed() {
  const asked = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/livez`, { agent: false }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode}`));
      response.resume().on('end', () => resolve(performance.now() - asked));
    });
    sent.on('error', reject).end();
  });
}
