/** What the last stage of a Dockerfile says of the image. */
export interface ImageSettings {
  /** The base as it is pulled, and its digest. */
  readonly base: string;
  readonly digest: string;
  readonly env: readonly string[];
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

/** Reads the last stage, so that an image that is made without an engine is started as one that was made with it. */
export function settingsOf(dockerfile: string): ImageSettings {
  const stage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM ') + 1);
  const said = (word: string): readonly string[] =>
    [...stage.matchAll(new RegExp(`^${word} (.+)$`, 'gm'))].map(([, rest = '']) => rest);
  const [base = ''] = said('FROM');
  const [user = ''] = said('USER');
  const list = (word: string): readonly string[] => JSON.parse(said(word)[0] ?? '[]') as readonly string[];
  const digest = /@(sha256:[0-9a-f]{64})$/.exec(base)?.[1];
  if (digest === undefined) throw new Error(`image: deploy/Dockerfile names no digest of its base: ${base}`);
  return { base, digest, env: said('ENV'), user, entrypoint: list('ENTRYPOINT'), command: list('CMD') };
}
