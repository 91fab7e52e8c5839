/** What was started on a machine for a sandbox, found again wherever it went. */

/** Every process of a sandbox inherits it. */
export const marker = 'SKILLBOX_SANDBOX';

/** A socket's path may have 107 characters, and the guest adds some while it makes it. */
export const maxSocketPath = 103;

/** Ends everything with the mark, again and again, since a program may start another meanwhile. For /bin/sh. */
export const endMarked = `
end_marked() {
  rounds=0
  while pids=$(grep -lszxF -e "$1" /proc/[0-9]*/environ | cut -d/ -f3) && [ -n "$pids" ]; do
    kill -9 $pids 2>/dev/null
    rounds=$((rounds + 1))
    [ $rounds -lt 200 ] || { echo "something would not end" >&2; exit 1; }
    sleep 0.02
  done
}`;
