import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { type Answer, misbehavingServer, sendJson, sendStatus } from '@drydock/kube/testing';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-preflight-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const SECRET = 'hunter2';

function definition(plural: string, values: readonly string[] | undefined): object {
  const phase = { type: 'string', ...(values === undefined ? {} : { enum: values }) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: 'object', properties: { status: { type: 'object', properties: { phase } } } },
          },
        },
      ],
    },
  };
}

const thing = (name: string, phase: string): object => ({
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '3' },
  status: { phase },
});

/** A server with some things; kinds that are not named may not be listed. */
function server(kinds: Readonly<Record<string, readonly object[]>>, definitions: readonly object[]): Answer {
  return ({ path }, response) => {
    const plural = path.split('/').at(-1) ?? '';
    if (path === '/version') sendJson(response, { major: '1', minor: '34' });
    else if (plural === 'customresourcedefinitions')
      sendJson(response, { metadata: { resourceVersion: '9' }, items: definitions });
    else if (kinds[plural] === undefined) sendStatus(response, 403, { reason: 'Forbidden', message: 'no' });
    else sendJson(response, { metadata: { resourceVersion: '9' }, items: kinds[plural] });
  };
}

function target(...definitions: readonly object[]): string {
  const file = join(scratch, `${Math.random().toString(36).slice(2)}.json`);
  writeFileSync(file, JSON.stringify({ kind: 'List', items: definitions }));
  return file;
}

async function preflight(
  answer: Answer,
  ...args: readonly string[]
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  await using host = await misbehavingServer(answer);
  const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
  const kubeconfig = join(scratch, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: host.config.server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const child = spawn(process.execPath, [bin, 'crd', 'preflight', '--kubeconfig', kubeconfig, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await exit, stdout, stderr };
}

test('RB-R63, RB-R76: what stops the way is told with its class, its place and one object, and no value', async () => {
  const world = server({ things: [thing('a', 'Ready'), thing('b', SECRET)] }, [definition('things', undefined)]);
  const { status, stdout, stderr } = await preflight(
    world,
    '--to',
    target(definition('things', ['Ready'])),
    '--target-version',
    '1.30',
    '-o',
    'wide',
  );
  assert.deepEqual([status, stderr], [3, '']);
  assert.match(
    stdout,
    /^You cannot go to .* yet: 1 place in 1 definition would be refused or lost\.\n2 objects of 1 definition were judged for a server of era E1 \(now E2\)\./,
  );
  assert.match(stdout, /BLOCK_STATUS +N5 +things\.example +status\.phase +1 +n\/b +none of "Ready" +string, 9 bytes/);
  assert.ok(!stdout.includes(SECRET));
});

test('RB-R64: a cluster in which nothing is in the way may go, exit code 0', async () => {
  const world = server({ things: [thing('a', 'Ready')] }, [definition('things', undefined)]);
  const { status, stdout } = await preflight(world, '--to', target(definition('things', ['Ready'])));
  assert.equal(status, 0);
  assert.match(stdout, /^You can go to /);
});

test('RB-R73: what is accepted by its id does not stop the way, and is still shown', async () => {
  const world = server({ things: [thing('b', 'Other')] }, [definition('things', undefined)]);
  const to = target(definition('things', ['Ready']));
  const { status, stdout } = await preflight(world, '--to', to, '--ack', 'LATENT:things.example.com', '-o', 'json');
  const answer = JSON.parse(stdout) as {
    verdict: string;
    groups: { acknowledged: boolean }[];
    findings: { class: string; object: string }[];
  };
  assert.deepEqual(
    [status, answer.verdict, answer.groups.map(({ acknowledged }) => acknowledged)],
    [0, 'clean', [true]],
  );
  assert.deepEqual(
    answer.findings.map((finding) => `${finding.class} ${finding.object}`),
    ['LATENT n/b'],
  );
});

test('an acknowledgement that fits nothing is told: it could be a slip of the pen', async () => {
  const world = server({ things: [thing('b', 'Other')] }, [definition('things', undefined)]);
  const to = target(definition('things', ['Ready']));
  const acks = ['LATENT:things.example.com', 'LATENT:thing.example.com', 'PRUNE'];
  const { status, stderr } = await preflight(world, '--to', to, '--ack', ...acks);
  assert.equal(status, 0);
  assert.deepEqual(
    stderr.trimEnd().split('\n'),
    acks.slice(1).map((ack) => `drydock: --ack ${ack} accepts nothing that was found`),
  );
});

test('RB-R77: a kind that may not be listed leaves the answer undecided, exit code 5', async () => {
  const world = server({}, [definition('things', undefined)]);
  const to = target(definition('things', undefined));
  const { status, stdout } = await preflight(world, '--to', to);
  assert.equal(status, 5);
  assert.match(stdout, /UNDECIDED .*things\.example .*its objects may not be listed/);
});

test('a probe that nobody says yes to installs nothing: the answer stays what it is without one', async () => {
  const ruled = definition('things', undefined) as { spec: { versions: { schema: { openAPIV3Schema: object } }[] } };
  const [version] = ruled.spec.versions;
  if (version !== undefined)
    version.schema.openAPIV3Schema = {
      ...version.schema.openAPIV3Schema,
      'x-kubernetes-validations': [{ rule: 'no.such.function(self)' }],
    };
  const writes: string[] = [];
  const world = server({ things: [thing('a', 'x')] }, [definition('things', undefined)]);
  const asked = await preflight(
    (request, response, ...rest) => {
      if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`);
      return world(request, response, ...rest);
    },
    '--to',
    target(ruled),
    '--server-probe',
  );
  assert.deepEqual([asked.status, writes], [5, []]);
  assert.match(asked.stderr, /nothing was probed: .* needs a yes or --yes/);
  assert.match(asked.stdout, /^Whether you can go to .* is undecided/);
  const settled = await preflight(world, '--to', target(definition('things', undefined)), '--server-probe');
  assert.deepEqual([settled.status, settled.stderr], [0, ''], 'where nothing is in doubt nobody is asked');
});

test('a server that does not answer is a failure, a wrong era is usage', async () => {
  const to = target(definition('things', undefined));
  const dead: Answer = (_request, response) => response.destroy();
  assert.equal((await preflight(dead, '--to', to)).status, 1);
  const world = server({ things: [] }, [definition('things', undefined)]);
  assert.equal((await preflight(world, '--to', to, '--era-target', 'E9')).status, 2);
  assert.equal((await preflight(world, '--to', to, '--target-version', 'newest')).status, 2);
  // As a number it would be a server of era E0.
  const openshift = await preflight(world, '--to', to, '--target-version', '4.17');
  assert.equal(openshift.status, 2);
  assert.match(openshift.stderr, /4\.17 is no version of Kubernetes: write it as 1\.30, which OpenShift 4\.17 has/);
});

test('a definition that is deleted in mid-scan leaves its kind undecided, and what was seen is still told', async () => {
  const pages = server(
    { things: [thing('a', 'Other')], others: [thing('b', 'Ready')] },
    ['things', 'others'].map((plural) => definition(plural, undefined)),
  );
  const world: Answer = (request, response, ...rest) => {
    if (!request.path.endsWith('/things')) return pages(request, response, ...rest);
    if (request.query.has('continue'))
      return sendStatus(response, 404, {
        reason: 'NotFound',
        message: 'the server could not find the requested resource',
      });
    return sendJson(response, { metadata: { resourceVersion: '9', continue: 'more' }, items: [thing('a', 'Other')] });
  };
  const to = target(definition('things', ['Ready']), definition('others', ['Ready']));
  const { status, stdout } = await preflight(world, '--to', to, '--era-target', 'E0', '-o', 'json');
  const { groups, objects } = JSON.parse(stdout) as {
    groups: { class: string; crd: string; what: string }[];
    objects: number;
  };
  assert.deepEqual([status, objects], [3, 2]);
  assert.deepEqual(
    groups.map((group) => `${group.class} ${group.crd}`),
    ['BLOCK_STATUS things.example.com', 'UNDECIDED things.example.com'],
  );
  assert.match(groups[1]?.what ?? '', /deleted during the scan/);
  const accepted = await preflight(world, '--to', to, '--era-target', 'E0', '--ack', 'BLOCK_STATUS:things.example.com');
  assert.equal(accepted.status, 5, 'what was not looked at is not clean');
});

test('a definition of the target that cannot be judged leaves its kind undecided: it is not one that the target lacks', async () => {
  const world = server({ things: [thing('a', 'Ready')], others: [thing('b', 'Ready')] }, [
    definition('things', undefined),
    definition('others', undefined),
  ]);
  const bad = JSON.parse(
    JSON.stringify(definition('others', undefined)).replace('"type":"string"', '"$ref":"#/x"'),
  ) as object;
  const to = target(bad, definition('things', undefined));
  const { status, stdout } = await preflight(world, '--to', to, '-o', 'json');
  const { groups, objects } = JSON.parse(stdout) as { groups: { class: string; crd: string }[]; objects: number };
  assert.deepEqual([status, objects], [5, 1]);
  assert.deepEqual(
    groups.map((group) => `${group.class} ${group.crd}`),
    ['UNDECIDED others.example.com'],
  );
});

test('definitions that the target does not have are told in one line, and each with -o wide', async () => {
  const plurals = ['things', 'others', 'more'];
  const world = server(
    { things: [thing('a', 'Ready')], others: [], more: [] },
    plurals.map((plural) => definition(plural, undefined)),
  );
  const to = target(definition('things', undefined));
  const short = await preflight(world, '--to', to);
  assert.deepEqual([short.status, short.stdout.match(/^ORPHAN +N32/gm)?.length], [0, 1]);
  assert.match(short.stdout, /ORPHAN +N32 +more\.example and 1 more +definition/);
  const wide = await preflight(world, '--to', to, '-o', 'wide');
  assert.equal(wide.stdout.match(/^ORPHAN +N32/gm)?.length, 2);
});

test('SAFE-18 what is stored and would be read through a conversion webhook is no clean way, and no way at all where nobody answers', async () => {
  const service = { namespace: 'console', name: 'webhook' };
  const versioned = (stored: string): object => {
    const base = definition('things', undefined) as { spec: { versions: readonly object[] } };
    const versions = ['v1', 'v1alpha1'].map((name) => ({ ...base.spec.versions[0], name, storage: name === stored }));
    const conversion = {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { service: { ...service, path: '/convert' } } },
    };
    return { ...base, spec: { ...base.spec, versions, conversion }, status: { storedVersions: [stored] } };
  };
  const stored = server({ things: [thing('a', 'Ready')] }, [versioned('v1')]);
  const to = target(versioned('v1alpha1'));
  /** Without a Service, with one that nobody is behind, and with one that answers. */
  const withService =
    (slices: readonly object[] | undefined): Answer =>
    (request, response, ...rest) => {
      if (request.path === '/api/v1/namespaces/console/services/webhook' && slices !== undefined)
        return sendJson(response, { metadata: { name: 'webhook', namespace: 'console' }, spec: {} });
      if (request.path.includes('/services/'))
        return sendStatus(response, 404, { reason: 'NotFound', message: 'services "webhook" not found' });
      if (request.path.endsWith('/endpointslices'))
        return sendJson(response, { metadata: { resourceVersion: '1' }, items: slices ?? [] });
      return stored(request, response, ...rest);
    };
  const slice = (ready: boolean): object => ({
    metadata: { name: 'webhook-1', namespace: 'console' },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  });
  const absent = await preflight(withService(undefined), '--to', to);
  assert.equal(absent.status, 3, absent.stdout);
  assert.match(absent.stdout, /^You cannot go to /);
  assert.match(absent.stdout, /CONVERT +N27 +things\.example .*; its Service console\/webhook is not there/);
  for (const slices of [[], [slice(false)]]) {
    const silent = await preflight(withService(slices), '--to', to);
    assert.equal(silent.status, 3, silent.stdout);
    assert.match(silent.stdout, /its Service console\/webhook has no endpoint that is ready/);
  }
  const there = await preflight(withService([slice(true)]), '--to', to);
  assert.equal(there.status, 5, there.stdout);
  assert.match(there.stdout, /^Whether you can go to .* is undecided/);
  assert.match(there.stdout, /UNDECIDED +N27 +things\.example/);
  assert.doesNotMatch(there.stdout, /server-probe/, 'a probe converts nothing');
  const brought = target(versioned('v1alpha1'), { apiVersion: 'v1', kind: 'Service', metadata: service });
  assert.equal((await preflight(withService(undefined), '--to', brought)).status, 5, 'it comes with the release');
  const same = await preflight(withService(undefined), '--to', target(versioned('v1')));
  assert.equal(same.status, 0, 'nothing changes');
});
