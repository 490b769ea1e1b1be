import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { clusterVersionManifest } from '@drydock/crd/testing';
import { testImage } from '@drydock/release/testing';
import { parseAllDocuments, stringify } from 'yaml';
import { yamlText } from '../yaml.ts';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-crd-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A definition with one enum, one bound in its status and, where asked for, more. */
function definition(values: readonly string[], more: Record<string, unknown> = {}, name = 'things'): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: name },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                status: { type: 'object', properties: { phase: { type: 'string', enum: values }, ...more } },
              },
            },
          },
        },
      ],
    },
  };
}

function folder(name: string, files: Readonly<Record<string, object | string>>): string {
  const path = join(scratch, name);
  mkdirSync(path, { recursive: true });
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(path, file), typeof content === 'string' ? content : yamlText(content));
  return path;
}

function drydock(...args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
  return spawnSync(process.execPath, [bin, 'crd', ...args], { encoding: 'utf8' });
}

const old = folder('old', { 'a.yaml': definition(['A']) });
const now = folder('now', { 'a.yaml': definition(['A', 'B'], { extra: { type: 'string' } }) });

test('RB-R31: check says in one sentence that one can go forward, and what stops the way back', () => {
  const { status, stdout } = drydock('check', old, now);
  assert.equal(status, 3);
  assert.match(stdout, /UPGRADE: old → now\nYou can go forward: /);
  assert.match(
    stdout,
    /ROLLBACK: now → old\nWhat stops you if an object uses it: 2 places in 1 definition \(1 definition compared\)/,
  );
  assert.match(
    stdout,
    /refuses +N1 +things\.example +v1 +status\.phase +enum loses "B"\nloses +N12 +things\.example +v1 +status\.extra/,
  );
  assert.equal(drydock('check', old, now, '--direction', 'upgrade').status, 0);
  assert.equal(drydock('check', old, old).status, 0);
});

test('REL-15 check says that an enum in status is a trap, and an enum in spec is none', () => {
  const specs = (values: readonly string[]) => {
    const text = JSON.stringify(definition(values)).replace('"status":{"type":"object"', '"spec":{"type":"object"');
    return JSON.parse(text) as ReturnType<typeof definition>;
  };
  assert.match(drydock('check', old, now).stdout, /An enum in status is a trap: .*declare a plain string/s);
  const [before, after] = [
    folder('before', { 'a.yaml': specs(['A']) }),
    folder('after', { 'a.yaml': specs(['A', 'B']) }),
  ];
  const { stdout } = drydock('check', before, after);
  assert.match(stdout, /enum loses "B"/);
  assert.doesNotMatch(stdout, /trap/);
});

test('RB-R31: 4.13 and 4.14: forward nothing but the new rule is in the way, back four places are', () => {
  const [a, b] = ([13, 14] as const).map((release) =>
    folder(`cv-${release}`, { 'cv.json': JSON.stringify(clusterVersionManifest(release)) }),
  ) as [string, string];
  const steps = (direction: string): readonly string[] => {
    const { status, stdout } = drydock('check', a, b, '--direction', direction, '-o', 'json');
    assert.equal(status, 3);
    const { ways } = JSON.parse(stdout) as {
      ways: { crds: { steps: { effect: string; path: string; rule: string }[] }[] }[];
    };
    return ways
      .flatMap(({ crds }) => crds.flatMap((crd) => crd.steps))
      .filter(({ effect }) => effect !== 'widens')
      .map(({ path, rule }) => `${rule} ${path}`)
      .toSorted();
  };
  assert.deepEqual(steps('upgrade'), ['N16 <root>']);
  assert.deepEqual(steps('rollback'), [
    'N1 spec.capabilities.baselineCapabilitySet',
    'N2 spec.capabilities.additionalEnabledCapabilities[]',
    'N2 status.capabilities.enabledCapabilities[]',
    'N2 status.capabilities.knownCapabilities[]',
  ]);
});

test('what is said of several definitions is said once, and of each of them with -o wide', () => {
  const many = (values: readonly string[]): Readonly<Record<string, object>> =>
    Object.fromEntries(['things', 'others', 'more'].map((name) => [`${name}.yaml`, definition(values, {}, name)]));
  const [a, b] = [folder('many-a', many(['A', 'B'])), folder('many-b', many(['A']))];
  assert.match(
    drydock('check', a, b).stdout,
    /refuses +N1 +more\.example and 2 more +v1 +status\.phase +enum loses "B"/,
  );
  assert.equal(drydock('check', a, b, '-o', 'wide').stdout.match(/refuses +N1 .* enum loses "B"/g)?.length, 3);
});

test('TRUTH-17 the table names versions, and with -o wide each line is one place and readable', () => {
  const fields = (values: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`aFieldWithALongName${at}`, { type: 'string', enum: values }]),
    );
  const two = (values: readonly string[]): object => {
    const base = definition(['A'], fields(values)) as { spec: { versions: readonly object[] } };
    const versions = [...base.spec.versions, { ...base.spec.versions[0], name: 'v2', storage: false }];
    return { ...base, spec: { ...base.spec, versions } };
  };
  const [a, b] = [folder('wide-a', { 'a.yaml': two(['A', 'B']) }), folder('wide-b', { 'a.yaml': two(['A']) })];
  const short = drydock('check', a, b, '--direction', 'upgrade').stdout;
  assert.match(short, /^EFFECT +RULE +DEFINITION +VERSION +PLACE +WHAT$/m);
  assert.match(short, /refuses +N1 +things\.example +v1, v2 +status\.aFieldWithALongName0 and 39 more +enum loses "B"/);
  const wide = drydock('check', a, b, '--direction', 'upgrade', '-o', 'wide').stdout;
  const rows = wide.split('\n').filter((line) => line.startsWith('refuses'));
  assert.equal(rows.length, 40);
  assert.ok(rows.every((line) => line.length < 160 && line.includes('v1, v2')));
});

test('check for machines: the same answer as JSON and as YAML, and nothing else on stdout', () => {
  const json = JSON.parse(drydock('check', old, now, '-o', 'json').stdout) as {
    ways: { verdict: string; crds: { steps: { rule: string }[] }[] }[];
  };
  assert.deepEqual(
    json.ways.map(({ verdict }) => verdict),
    ['clean', 'blocked'],
  );
  const [document] = parseAllDocuments(drydock('check', old, now, '-o', 'yaml').stdout);
  assert.deepEqual(document?.toJS(), json);
});

test('RB-R36: a pattern that is written otherwise leaves the answer undecided, exit code 5', () => {
  const pattern = (text: string): string =>
    folder(`p${text.length}`, { 'a.yaml': definition(['A'], { name: { type: 'string', pattern: text } }) });
  const { status, stdout } = drydock('check', pattern('^a$'), pattern('^(a)$'));
  assert.equal(status, 5);
  assert.match(stdout, /Whether you can go back is undecided/);
});

test('bad input is told for its file, the rest is compared, and the exit code is not that of a clean answer', () => {
  const half = folder('half', {
    'a.yaml': definition(['A']),
    'b.yaml': 'a: [',
    'c.yaml': stringify({ ...definition(['A'], {}, 'others'), spec: {} }),
  });
  const { status, stdout } = drydock('check', old, half);
  assert.equal(status, 5);
  assert.match(
    stdout,
    /NOT JUDGED\n.*b\.yaml cannot be read.*\n.*c\.yaml: CustomResourceDefinition others\.example\.com lacks/,
  );
});

test('TRUTH-15 what could not be read decides the verdict, and only pairs count as compared', () => {
  const unreadable: Readonly<Record<string, string | Uint8Array>> = {
    'helm.yaml': '{{- if .Values.crds }}\nkind: CustomResourceDefinition\n{{- end }}\n',
    'label.yaml': 'kind: CustomResourceDefinition\nmetadata:\n  name: {{ .Release.Name }}\n',
    'bomb.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
      .split('')
      .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[at]}`).join()}]`)
      .join('\n')}`,
    'bytes.yaml': Uint8Array.from({ length: 4096 }, (_, at) => (at * 197 + 131) % 256),
    'text.yaml': 'hello world',
  };
  for (const [name, content] of Object.entries(unreadable)) {
    const path = folder(`unread-${name}`, { 'a.yaml': definition(['A']), 'only.yaml': definition(['A'], {}, 'only') });
    writeFileSync(join(path, name), content);
    const { status, stdout } = drydock('check', old, path);
    assert.equal(status, 5, name);
    assert.doesNotMatch(stdout, /You can go/, name);
    assert.match(
      stdout,
      /Whether you can go back is undecided \(1 definition compared; 1 thing could not be read, see NOT JUDGED\)/,
      name,
    );
    const { compared, ways } = JSON.parse(drydock('check', old, path, '-o', 'json').stdout) as {
      compared: number;
      ways: { verdict: string }[];
    };
    assert.deepEqual([compared, ways.map(({ verdict }) => verdict)], [1, ['undecided', 'undecided']], name);
  }
});

test('TRUTH-15 a reader that goes away does not change the exit code', () => {
  const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, { type: 'string' }]));
  const wide = folder('epipe', { 'a.yaml': definition(['A', 'B'], many) });
  // Closed before anything is said.
  const run = (to: string): string =>
    spawnSync(
      'bash',
      [
        '-c',
        '{ "$@" 2>/dev/null; echo $? >&3; } 3>&2 | exec 0<&-',
        'bash',
        process.execPath,
        bin,
        'crd',
        'check',
        to,
        old,
        '-o',
        'json',
      ],
      { encoding: 'utf8' },
    ).stderr.trim();
  assert.equal(run(wide), '3');
  assert.equal(run(old), '0');
});

test('one definition of a list that cannot be judged leaves the others of it alone, and is not absent', () => {
  const bad = { ...definition(['A'], { broken: { $ref: '#/x' } }, 'others') };
  const list = { apiVersion: 'v1', kind: 'List', items: [bad, definition(['A', 'B'], {}, 'things')] };
  const all = folder('list', { 'all.json': JSON.stringify(list) });
  const before = folder('list-old', { 'a.yaml': definition(['A']), 'b.yaml': definition(['A'], {}, 'others') });
  const { stdout } = drydock('check', before, all, '--direction', 'rollback', '-o', 'json');
  const { problems, ways } = JSON.parse(stdout) as {
    readonly problems: readonly string[];
    readonly ways: readonly { readonly crds: readonly { readonly crd: string }[] }[];
  };
  assert.match(problems.join('\n'), /^\S+all\.json: \S+ others\.example\.com, version v1: .*\$ref\..*$/);
  assert.deepEqual(
    ways[0]?.crds.map(({ crd }) => crd),
    ['things.example.com'],
  );
});

test('a file that may not be read is told, and the rest goes on', () => {
  const broken = folder('broken', { 'a.yaml': definition(['A']) });
  mkdirSync(join(broken, 'folder.yaml'));
  symlinkSync('/nowhere/at/all', join(broken, 'link.yaml'));
  const { status, stdout } = drydock('check', old, broken);
  assert.equal(status, 5);
  assert.match(stdout, /NOT JUDGED\n(?:.*\n)?.*link\.yaml cannot be read: ENOENT/);
  const bridged = drydock('bridge', old, broken);
  assert.deepEqual([bridged.status, bridged.stdout.startsWith('---\n')], [5, true]);
});

test('of several definitions of one name that of the feature set is taken', () => {
  const annotated = (set: string, values: readonly string[]): object => {
    const all = definition(values) as { metadata: object };
    return { ...all, metadata: { annotations: { 'release.openshift.io/feature-set': set }, ...all.metadata } };
  };
  const both = folder('both', {
    'd.yaml': annotated('Default', ['A']),
    't.yaml': annotated('TechPreviewNoUpgrade', ['A', 'B']),
  });
  assert.equal(drydock('check', old, both).status, 0);
  assert.equal(drydock('check', old, both, '--feature-set', 'TechPreviewNoUpgrade').status, 3);
  const slip = drydock('check', old, both, '--feature-set', 'TechPreview');
  assert.equal(slip.status, 5, 'what is left out by mistake is not clean');
  assert.match(slip.stdout, /no file is for the feature set TechPreview; there are Default, TechPreviewNoUpgrade/);
});

test('bridge prints definitions that a server takes, and says what cannot be bridged', () => {
  const { status, stdout } = drydock('bridge', old, now);
  assert.equal(status, 0);
  const [document] = parseAllDocuments(stdout);
  const { spec } = (document?.toJS() ?? {}) as {
    spec: {
      versions: { schema: { openAPIV3Schema: { properties: { status: { properties: Record<string, unknown> } } } } }[];
    };
  };
  assert.deepEqual(spec.versions[0]?.schema.openAPIV3Schema.properties.status.properties, {
    phase: { type: 'string', enum: ['A', 'B'] },
    extra: { type: 'string' },
  });
  const number = folder('number', { 'a.yaml': definition(['A'], { extra: { type: 'boolean' } }) });
  const stopped = drydock('bridge', number, now);
  assert.deepEqual([stopped.status, stopped.stdout], [3, '']);
  assert.match(stopped.stderr, /things\.example\.com cannot be bridged \(N11 status\.extra\)/);
});

test('TRUTH-11 TRUTH-12 bridge: every definition of either release is printed or named, and check agrees that what is printed is clean', () => {
  const renamed = (of: object, from: string, to: string): object =>
    JSON.parse(JSON.stringify(of).replaceAll(`"${from}"`, `"${to}"`)) as object;
  const [a, b] = [
    folder('bridge-old', {
      'a.yaml': definition(['A']),
      'moved.yaml': definition(['A'], {}, 'moved'),
      'gone.yaml': definition(['A'], {}, 'gone'),
    }),
    folder('bridge-new', {
      'a.yaml': definition(['B'], { extra: { type: 'string', enum: ['on', '1_000'] } }),
      'moved.yaml': renamed(definition(['A'], {}, 'moved'), 'v1', 'v2'),
      'come.yaml': definition(['A'], {}, 'come'),
    }),
  ];
  const one = drydock('bridge', a, b);
  assert.equal(one.status, 3);
  assert.match(
    one.stderr,
    /moved\.example\.com cannot be bridged \(N25\): none of v1 is in the newer release, which has v2/,
  );
  assert.match(one.stderr, /2 definitions of one release alone, carried over: .*come\.example\.com \(newer\)/);
  const named = (text: string): readonly string[] =>
    [...text.matchAll(/^ {2}name: (\w+)\.example\.com$/gm)].map(([, name = '']) => name).toSorted();
  assert.deepEqual(named(one.stdout), ['come', 'gone', 'things']);
  assert.match(one.stdout, /- "on"\n\s+- "1_000"/);
  for (const store of ['older', 'newer']) {
    const { status, stdout } = drydock('bridge', a, b, '--store', store);
    assert.equal(status, 0);
    assert.deepEqual(named(stdout), ['come', 'gone', 'moved', 'things']);
    const between = folder(`between-${store}`, { 'bridge.yaml': stdout });
    assert.equal(drydock('check', a, between, '--direction', 'upgrade').status, 0);
    assert.equal(drydock('check', between, b, '--direction', 'rollback').status, 0);
  }
  assert.equal(drydock('bridge', a, b, '--store', 'both').status, 2);
});

test('usage: what is not there, a format and a direction that do not exist', () => {
  for (const args of [
    ['check', old, '/nowhere'],
    ['check', old, now, '-o', 'xml'],
    ['check', old, now, '--direction', 'sideways'],
    ['check', old],
    ['preflight'],
  ]) {
    const { status, stdout } = drydock(...args);
    assert.deepEqual([status, stdout], [2, ''], args.join(' '));
  }
});

test('FIND-19 CRDs come from a folder, a payload or a release image alike, and what is none says what there is', async () => {
  const manifest = yamlText(definition(['A', 'B'], { extra: { type: 'string' } }));
  const image = await testImage([
    [
      ['release-manifests/release-metadata', '{"kind":"cincinnati-metadata-v0","version":"4.17.9"}'],
      ['release-manifests/image-references', '{"kind":"ImageStream","apiVersion":"image.openshift.io/v1"}'],
      ['release-manifests/0000_10_a.yaml', manifest],
    ],
  ]);
  const layout = join(scratch, 'layout');
  mkdirSync(join(layout, 'blobs', 'sha256'), { recursive: true });
  for (const [digest, { bytes }] of image.blobs) writeFileSync(join(layout, 'blobs', 'sha256', digest.slice(7)), bytes);
  const { digest, mediaType } = image;
  const index = { schemaVersion: 2, manifests: [{ digest, mediaType, size: 1 }] };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  mkdirSync(join(scratch, 'payload'));
  const payload = folder('payload/release-manifests', {
    'release-metadata': '{"kind":"cincinnati-metadata-v0","version":"4.17.9"}',
    '0000_10_a.yaml': manifest,
  });
  const whole = drydock('check', old, now, '-o', 'json');
  const ways = (text: string): unknown => {
    const { ways: found } = JSON.parse(text) as { readonly ways: readonly { readonly crds: unknown }[] };
    return found.map(({ crds }) => crds);
  };
  for (const name of [`oci:${layout}`, join(payload, '..')]) {
    const { status, stdout, stderr } = drydock('check', old, name, '-o', 'json');
    assert.deepEqual([status, ways(stdout)], [3, ways(whole.stdout)], `${name}: ${stderr}`);
  }
  for (const [name, code, said] of [
    ['crds-4.17', 2, /^drydock: there is no file or folder crds-4\.17: name a folder, file, oci:FOLDER/],
    ['helm:shop', 2, /^drydock: there is no file or folder helm:shop: /],
    [`oci:${scratch}`, 1, /index\.json/],
  ] as const) {
    const { status, stderr } = drydock('check', old, name);
    assert.equal(status, code, stderr);
    assert.match(stderr, said);
  }
});
