/**
 * One host uid for each sandbox, so that a sandbox owns nothing but itself and limits per user are exact.
 * A server claims a block of a thousand; the claim is an abstract socket, which the kernel frees with the
 * process, so that two servers on one machine never share a uid and no lock file can go stale.
 */

import { BoxError } from '@skillbox/protocol';
import { tryLock } from '../../../process/abstract-lock.ts';

/** Above the ranges that people, systemd and container engines use, below 2^31. */
const firstUid = 1_900_000_000;
const blockSize = 1000;
const blocks = 200;

export interface Uids {
  readonly first: number;
  take(): number;
  give(uid: number): void;
  close(): void;
}

/** `base` is where the numbers start; rootless sandboxes count inside their own subordinate range. */
export async function claimUids(base = firstUid, count = blockSize): Promise<Uids> {
  if (base !== firstUid) return uidsFrom(base, count, () => undefined);
  for (let block = 0; block < blocks; block += 1) {
    const claim = await tryLock(`uids-${block}`);
    if (claim) return uidsFrom(firstUid + block * blockSize, blockSize, () => claim.release());
  }
  throw new BoxError('sandbox_unavailable', `All ${blocks} uid blocks on this machine are taken by other servers.`);
}

function uidsFrom(first: number, count: number, close: () => void): Uids {
  const free = Array.from({ length: count }, (_, index) => first + index).reverse();
  return {
    first,
    take() {
      const uid = free.pop();
      if (uid === undefined) throw new BoxError('unavailable', `All ${count} sandbox uids of this server are in use.`);
      return uid;
    },
    give(uid) {
      // To the far end: a uid rests as long as possible before it is used again.
      free.unshift(uid);
    },
    close,
  };
}
