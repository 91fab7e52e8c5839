/** Which events a webhook wants: exact types, `sandbox.*`, or `*`. */
export function matchesPattern(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*' || pattern === type) return true;
    // With the dot: sandbox.* is not sandboxes.made.
    return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
  });
}
