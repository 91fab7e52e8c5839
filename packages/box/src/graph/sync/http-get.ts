/** One GET of http or https, straight or through a proxy. The answer is as it came: redirects are for the caller. */

import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface GetOptions {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
  readonly proxy: URL | undefined;
}

export async function httpGet(url: URL, { headers, proxy, signal }: GetOptions): Promise<IncomingMessage> {
  const auth = url.username === '' ? {} : { auth: credentialsOf(url) };
  // Nothing is asked of the same host soon: a connection that is kept would only keep the process.
  const options: RequestOptions = { headers, signal, agent: false, ...auth };
  if (!proxy) return send(url, options);
  if (url.protocol === 'http:') {
    // To the proxy, with the whole address in its place.
    const shown = `${url.protocol}//${url.host}${url.pathname}${url.search}`;
    return send(proxy, { ...options, path: shown, headers: { ...headers, host: url.host, ...proxyHeaders(proxy) } });
  }
  const socket = await tunnel(proxy, url, signal);
  return send(url, { ...options, createConnection: () => connectTls({ socket, servername: nameOf(url) }) });
}

const send = (to: URL, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = to.protocol === 'https:' ? httpsRequest : httpRequest;
    request(to, options).once('response', resolve).once('error', reject).end();
  });

/** What the proxy gives for it is the connection itself: it sees names, and no word of what is said. */
function tunnel(proxy: URL, { hostname, port }: URL, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const target = `${hostname}:${port || 443}`;
    const request = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
    request(proxy, { method: 'CONNECT', path: target, headers: { host: target, ...proxyHeaders(proxy) }, agent: false, signal })
      .once('connect', ({ statusCode }, socket) => {
        if (statusCode === 200) return resolve(socket as Socket);
        socket.destroy();
        reject(new Error(`the proxy ${proxy.host} answers ${statusCode}`));
      })
      .once('response', (response) => {
        response.destroy();
        reject(new Error(`the proxy ${proxy.host} answers ${response.statusCode}`));
      })
      .once('error', (error: Error) => reject(new Error(`the proxy ${proxy.host}: ${error.message}`, { cause: error })))
      .end();
  });
}

const credentialsOf = ({ username, password }: URL): string => `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;

const proxyHeaders = (proxy: URL): Record<string, string> =>
  proxy.username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentialsOf(proxy)).toString('base64')}` };

/** An address of IPv4 or IPv6 is no name that a server could choose its certificate by. */
const nameOf = ({ hostname }: URL): string => (/^[\d.]+$|^\[/.test(hostname) ? '' : hostname);
