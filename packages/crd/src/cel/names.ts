/** Quoted text of a rule, in each of the forms that CEL has (langdef.md, "String and bytes values"). */
export const QUOTED: RegExp =
  /[rR]?(?:"""[\s\S]*?"""|'''[\s\S]*?''')|(?<!\w)[rR][bB]?(?:"[^"]*"|'[^']*')|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/** A rule with its quoted text blotted out: as long as before. */
export function masked(rule: string): string {
  return rule.replaceAll(QUOTED, (text) => `"${'x'.repeat(Math.max(0, text.length - 2))}"`);
}

/** What the library has in another form than a server: asked for under names of our own. */
const OURS: ReadonlySet<string> = new Set(
  'double duration findAll indexOf int join lastIndexOf lowerAscii matches split string substring timestamp trim upperAscii'.split(
    ' ',
  ),
);
/** Functions whose name has a dot. */
const DOTTED: ReadonlySet<string> = new Set([
  ...'byte date datetime dns1035Label dns1035LabelPrefix dns1123Label dns1123LabelPrefix dns1123Subdomain dns1123SubdomainPrefix labelValue named qualifiedName uri uuid'
    .split(' ')
    .map((name) => `format.${name}`),
  'ip.isCanonical',
  'lists.range',
  'sets.contains',
  'sets.equivalent',
  'sets.intersects',
  'strings.quote',
]);
const CALL = /(?:(?<![\w.])([a-z]+)\s*\.\s*(\w+)|\b([A-Za-z]\w*))\s*\(/g;

/**
 * A rule with the names under which {@link environment} has its functions: what the library has in another form gets a name of our own, `sets.contains` is a function and no field, and `existsOne` is
 * `exists_one` (cel-go, parser/macro.go).
 */
export function withOurs(rule: string): string {
  const text = masked(rule);
  let made = '';
  let done = 0;
  for (const { 0: all, 1: space = '', 2: member = '', 3: called = '', index } of text.matchAll(CALL)) {
    const name = member === '' ? called : member;
    const head = all.slice(0, all.length - 1).trimEnd();
    let instead: string | undefined;
    if (DOTTED.has(`${space}.${name}`)) instead = `${space}_${name}`;
    else if (name === 'existsOne') instead = `${head.slice(0, head.length - name.length)}exists_one`;
    else if (OURS.has(name)) instead = `${head.slice(0, head.length - name.length)}our_${name}`;
    if (instead === undefined) continue;
    made += rule.slice(done, index) + instead;
    done = index + head.length;
  }
  return made + rule.slice(done);
}
