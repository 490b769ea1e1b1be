import { UsageError } from './exit.ts';

/**
 * Where an image is read from, given where the release says that it is: `from=to` puts another beginning in place of one, the longest that matches. What is
 * read has to have the digest that the release names, wherever it comes from. Fails with `UsageError`.
 */
export function imageMirrors(pairs: readonly string[]): (location: string) => string {
  const mirrors = pairs.map((pair) => {
    // An address may have the sign in its query, but what stands before its path has not.
    const [, from = '', to = ''] = /^([a-z]+:\/\/[^=]*)=([a-z]+:\/\/.*)$/i.exec(pair) ?? [];
    if (!/^https?:/i.test(from) || !/^(https?|file):/i.test(to) || !URL.canParse(to))
      throw new UsageError(
        '--image-mirror expects <from>=<to>, two addresses, as https://rhcos.mirror.openshift.com/=https://mirror.example/rhcos/',
      );
    return { from, to };
  });
  const longestFirst = mirrors.toSorted((a, b) => b.from.length - a.from.length);
  return (location) => {
    const mirror = longestFirst.find(({ from }) => location.startsWith(from));
    return mirror === undefined ? location : `${mirror.to}${location.slice(mirror.from.length)}`;
  };
}
