/** What the name of a payload's file says of its place in the order. */
export interface FilePlace {
  /** Digits, compared as text. */
  readonly runlevel: string;
  readonly component: string;
}

const PATTERN = /^0000_(\d+)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*)_/;

/**
 * The place of `0000_RUNLEVEL_COMPONENT_anything.yaml`; undefined for any other name, which stands alone in its place of the order. As
 * openshift/cluster-version-operator reads file names.
 */
export function placeOfFile(name: string): FilePlace | undefined {
  const [, runlevel, component] = PATTERN.exec(name) ?? [];
  return runlevel === undefined || component === undefined ? undefined : { runlevel, component };
}
