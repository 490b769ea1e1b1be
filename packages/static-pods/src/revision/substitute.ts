/** What stands for the placeholders in revisioned objects and pods. */
export interface Substitutions {
  readonly revision: string;
  readonly nodeName: string;
}

/** The node's name as part of an environment variable: `a-b.c` is `a_b_c`. */
export function envVarName(nodeName: string): string {
  return nodeName.replaceAll(/[-.]/g, '_');
}

/**
 * Replaces REVISION, NODE_NAME and NODE_ENVVAR_NAME in content. It works on bytes: what is not UTF-8 (keys, archives) passes unchanged, which a
 * decoded string would not.
 */
export function substitute(content: Uint8Array, { revision, nodeName }: Substitutions): Uint8Array {
  const replacements = [
    ['REVISION', revision],
    ['NODE_NAME', nodeName],
    ['NODE_ENVVAR_NAME', envVarName(nodeName)],
  ] as const;
  // latin1 maps each byte to one character and back.
  let text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
  for (const [placeholder, value] of replacements)
    text = text.replaceAll(placeholder, () => Buffer.from(value, 'utf8').toString('latin1'));
  return Buffer.from(text, 'latin1');
}
