import assert from 'node:assert/strict';
import { readYaml, YamlFlaw } from '@drydock/api/yaml';
import { type Format, growing, type Hostile, pieces, SECRET } from '../format.ts';

/** What people and generators write. */
export const yaml: Format<readonly unknown[]> = {
  name: 'YAML texts',
  examples: [
    `a: 1\nb: [x, "y", 'z']\nc:\n- {d: ~, e: 0644}\npassword: ${SECRET}\n`,
    `---\na: &x {b: yes}\nc: *x\n---\nd: |\n  ${SECRET}\n  two\ne: >-\n  three\n  four\n`,
    `"q": "\\x41\\n"\n? [1, 2]\n: !!str 3\n<<: {m: 1.5e3}\n# ${SECRET}\n`,
    `{"json":[1,true,null,{"a":"${SECRET}"}],"b":-1}`,
  ],
  pieces: [
    ...[
      ': ',
      '- ',
      '? ',
      '&a ',
      '*a',
      '!t ',
      '!!int ',
      '|',
      '>-\n',
      '---\n',
      '...\n',
      '#',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
    ],
    ...[',', '\n', '\n  ', '<<: *x\n', '%YAML 1.1\n', '@', '`', '\\', '&x [*x]', 'a: b: c', '~', '\t'],
  ],
  nest: ['[', ']'],
  read: (bytes) => readYaml(bytes.toString()),
  refuses: (error) => error instanceof YamlFlaw,
  check: (documents) => {
    for (const value of documents) {
      const text = JSON.stringify(value);
      // All JSON is YAML; what JSON cannot say (infinities, keys of `?`) it says otherwise.
      if (text === undefined || deepEqual(value, JSON.parse(text)) === false) continue;
      assert.deepEqual(readYaml(text, { maxAliases: 0 }), [value]);
    }
  },
};

function deepEqual(a: unknown, b: unknown): boolean {
  try {
    assert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  keys: (size) => pieces(size, (n) => `k${n}: 1\n`),
  'keys on one line': (size) => `{${pieces(size, (n) => `k${n}: 1,`)}}`,
  lists: (size) => pieces(size, () => '- a\n'),
  'a list on one line': (size) => `[${pieces(size, () => 'a,')}]`,
  nesting: (size) => '['.repeat(size),
  'nesting by lines': (size) => pieces(size, (n) => `${' '.repeat(Number.parseInt(n, 36))}a:\n`),
  'keys of keys': (size) => '? '.repeat(size / 2),
  anchors: (size) => pieces(size, (n) => `- &a${n} x\n`),
  aliases: (size) => `a: &x [1]\n${pieces(size, () => '- *x\n')}`,
  merges: (size) => `a: &x\n  b: 1\n${pieces(size, (n) => `k${n}:\n  <<: *x\n`)}`,
  tags: (size) => pieces(size, (n) => `- !t${n} x\n`),
  escapes: (size) => `a: "${'\\n'.repeat(size / 2)}"`,
  blocks: (size) => `a: |\n${' x\n'.repeat(size / 3)}`,
  comments: (size) => `${'#\n'.repeat(size / 2)}a: 1`,
  documents: (size) => pieces(size, () => '--- a\n'),
  'mistakes at the end': (size) => `${pieces(size, (n) => `k${n}: 1\n`)}a: b: c\n`,
  numbers: (size) => `- ${'1_'.repeat(size / 2)}\n- ${'9'.repeat(size)}\n- ${'.1'.repeat(size / 2)}`,
};

export const yamlGrowth: readonly Hostile[] = growing('YAML of 1 MiB', HOSTILE, {
  limit: 2 ** 20,
  read: (text) => readYaml(text),
});
