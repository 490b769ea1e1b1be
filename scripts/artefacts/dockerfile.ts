/** What a stage of a Dockerfile says of the image. */
export interface ImageSettings {
  /** The base as it is pulled, and its digest. */
  readonly base: string;
  readonly digest: string;
  readonly env: readonly string[];
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** Symbolic links that the image has besides the programs, by their path from the root. */
  readonly links: Readonly<Record<string, string>>;
}

interface Stage {
  readonly from: string;
  readonly name: string | undefined;
  readonly lines: readonly string[];
}

/** Reads a stage, the last one by default, and the stages that it starts from, so that an image that is made without an engine is started as one that was made with it. */
export function settingsOf(dockerfile: string, target?: string): ImageSettings {
  const stages = dockerfile
    .split(/^(?=FROM )/m)
    .slice(1)
    .map((text): Stage => {
      const [first = '', ...lines] = text.split('\n');
      const [, from = '', name] = /^FROM (\S+)(?: AS (\S+))?$/.exec(first) ?? [];
      return { from, name, lines };
    });
  const named = (wanted: string): Stage | undefined => stages.find(({ name }) => name === wanted);
  const chosen = target === undefined ? stages.at(-1) : named(target);
  if (chosen === undefined) throw new Error(`image: deploy/Dockerfile has no stage ${target}`);
  const line = [chosen];
  for (let parent = named(chosen.from); parent !== undefined; parent = named(parent.from)) line.unshift(parent);
  const said = (word: string): readonly string[] =>
    line.flatMap(({ lines }) =>
      lines.filter((one) => one.startsWith(`${word} `)).map((one) => one.slice(word.length + 1)),
    );
  const base = line[0]?.from ?? '';
  const list = (word: string): readonly string[] => JSON.parse(said(word).at(-1) ?? '[]') as readonly string[];
  const digest = /@(sha256:[0-9a-f]{64})$/.exec(base)?.[1];
  if (digest === undefined) throw new Error(`image: deploy/Dockerfile names no digest of its base: ${base}`);
  const links = said('RUN').map((command): readonly [string, string] => {
    const [, to, path] = /^ln -s (\/\S+) \/(\S+)$/.exec(command) ?? [];
    if (to === undefined || path === undefined)
      throw new Error(`image: only links are made without an engine, and deploy/Dockerfile says RUN ${command}`);
    return [path, to];
  });
  const [entrypoint, command, user = ''] = [list('ENTRYPOINT'), list('CMD'), said('USER').at(-1)];
  return { base, digest, env: said('ENV'), user, entrypoint, command, links: Object.fromEntries(links) };
}
