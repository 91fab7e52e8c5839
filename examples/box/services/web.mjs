// Shows what store counts.

import { createServer } from 'node:http';

const { PORT, STORE_URL } = process.env;

const server = createServer(async (request, response) => {
  const answer = (status, body) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  if (request.url === '/health') return answer(200, { status: 'ok' });
  try {
    const { count } = await (await fetch(`${STORE_URL}/count`, { signal: AbortSignal.timeout(2000) })).json();
    answer(200, { count });
  } catch (error) {
    console.log(`store does not answer: ${error.message}`);
    answer(502, { error: 'store does not answer' });
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`web listens on ${PORT}`));
