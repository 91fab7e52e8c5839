import semver from 'semver';

/** Negative when a is lower. */
export const compareVersions = (a: string, b: string): number => semver.compare(a, b);

/** What `latest` means: the highest version; a pre-release only when there is nothing else. */
export function latestOf(versions: readonly string[]): string | undefined {
  const releases = versions.filter((version) => !semver.prerelease(version));
  return [...(releases.length > 0 ? releases : versions)].sort(compareVersions).at(-1);
}

/** The version itself when it is free, else the next patch that is. A taken pre-release leads to the releases after it. */
export function nextFree(version: string, existing: readonly string[]): string {
  const taken = new Set(existing);
  const { major, minor, patch } = new semver.SemVer(version);
  let next = patch;
  let candidate = version;
  while (taken.has(candidate)) {
    next += 1;
    candidate = `${major}.${minor}.${next}`;
  }
  return candidate;
}
