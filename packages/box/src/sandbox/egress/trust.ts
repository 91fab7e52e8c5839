/** Whom the two ends trust: the proxy the authorities of this machine and those the operator adds; some sandboxes the box besides. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from 'node:tls';
import { BoxError } from '@skillbox/protocol';
import { type Host, spellHost } from './hosts.ts';
import { Refusal } from './refusal.ts';

/** Debian, Fedora, Alpine, openSUSE. */
const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem', '/etc/ssl/ca-bundle.pem'];

/** Of this machine; where it has none, those that come with Node. */
export function systemBundle(): string {
  const file = bundles.find((path) => existsSync(path));
  return file ? readFileSync(file, 'utf8') : `${rootCertificates.join('\n')}\n`;
}

/** Ends in a connection to the true host, or a Refusal. */
export type Secure = (socket: Socket, host: Host, withinMs: number) => Promise<TLSSocket>;

/** `file` has more authorities, as PEM. */
export function createSecure(file: string | undefined): Secure {
  const extra = file === undefined ? [] : [readAuthorities(file)];
  let context: SecureContext | undefined;
  return (socket, host, withinMs) => {
    context ??= createSecureContext({ ca: [systemBundle(), ...extra] });
    return handshake(socket, host, context, withinMs);
  };
}

function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    createSecureContext({ ca: text });
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
    throw new Error('there is no certificate in it');
  } catch (cause) {
    throw new BoxError('config_invalid', `SKILLBOX_EGRESS_CA is not usable: ${(cause as Error).message}`, { cause });
  }
}

function handshake(socket: Socket, host: Host, secureContext: SecureContext, withinMs: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = connect({
      ...{ socket, secureContext, host: host.text, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true },
      // An address has no place in SNI; its certificate is checked all the same.
      ...(!host.isAddress && { servername: host.text }),
    });
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      secured.destroy();
      socket.destroy();
      reject(new Refusal('untrusted', `${spellHost(host)} could not prove who it is: ${cause.message}.`, { cause }));
    };
    const timer = setTimeout(() => fail(new Error('it takes too long')), withinMs);
    secured.once('error', fail);
    secured.once('close', () => fail(new Error('it closed the connection')));
    secured.once('secureConnect', () => {
      clearTimeout(timer);
      secured.removeAllListeners('close');
      secured.off('error', fail);
      secured.on('error', () => undefined);
      resolve(secured);
    });
  });
}

const authorityFile = 'authority.pem';
export const bundleFile = 'authorities.pem';

/** Into the folder that is bound inside: the box's certificate alone, and with those of the machine. Both are public. */
export function writeTrust(folder: string, certificate: string): void {
  for (const [name, text] of [
    [authorityFile, certificate],
    [bundleFile, `${systemBundle()}\n${certificate}`],
  ] as const) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
    writeFileSync(`${path}.new`, text, { mode: 0o644 });
    renameSync(`${path}.new`, path);
  }
}

/** For programs inside, by what each of them reads; `folder` is where they see it. */
export function trustEnv(folder: string): Record<string, string> {
  const all = `${folder}/${bundleFile}`;
  const whole = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'PIP_CERT', 'GIT_SSL_CAINFO', 'AWS_CA_BUNDLE'];
  return { ...Object.fromEntries(whole.map((name) => [name, all])), NODE_EXTRA_CA_CERTS: `${folder}/${authorityFile}` };
}
