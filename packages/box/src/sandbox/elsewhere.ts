/** What to say about something that another host has, when that host could not be asked. */

import { BoxError } from '@skillbox/protocol';
import type { Hosts } from '../hosts.ts';

export async function elsewhere(hosts: Hosts, what: string, host: string): Promise<BoxError> {
  const address = await hosts.addressOf(host);
  return address === undefined
    ? new BoxError('on_another_host', `${what} lives on host ${host}, which has not been heard of lately.`, {
        hint: 'Wait for that host to come back. Once its lease has run out, its sandboxes are marked failed.',
        details: { host },
      })
    : new BoxError('on_another_host', `${what} lives on host ${host}, which cannot be reached from this one.`, {
        hint: 'Try again, or send the request to that host. SKILLBOX_ADVERTISE_URL there must be an address that the other hosts reach.',
        details: { host },
      });
}
