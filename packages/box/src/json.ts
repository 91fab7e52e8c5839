/** JSON from strangers: depth is bounded, because what parses can still overflow the stack when it is written again. */

const maxDepth = 256;

/** Like JSON.parse, with a SyntaxError for what is nested too deeply. */
export function parseJson(text: string): unknown {
  if (depthOf(text) > maxDepth) throw new SyntaxError(`JSON nested deeper than ${maxDepth} levels`);
  return JSON.parse(text);
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  return at;
}
