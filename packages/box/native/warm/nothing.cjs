/* Does nothing: see node.cjs. */
