import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Line, runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-config-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A kubeconfig that leads to a server. */
function kubeconfig(name: string, server: string): string {
  const path = join(scratch, name);
  writeFileSync(
    path,
    `apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "${server}"}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n`,
  );
  return path;
}

function configFile(name: string, text: string): string {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

test('OWN-20 the line wins over variables, these over the context, and that over the default; who said what cannot be is named', async () => {
  await using lab = await smallCluster(['lab-a']);
  await using prod = await smallCluster(['prod-a', 'prod-b']);
  const [labFile, prodFile] = [
    kubeconfig('lab.kubeconfig', lab.flags[1] ?? ''),
    kubeconfig('prod.kubeconfig', prod.flags[1] ?? ''),
  ];
  const config = configFile(
    'config.yaml',
    `current-context: lab\ncontexts:\n- name: lab\n  kubeconfig: lab.kubeconfig\n  output: name\n- name: prod\n  kubeconfig: ${prodFile}\n  leaseNamespace: nowhere\n  namespace: openshift-machine-api\n- name: names\n  kubeContext: nobody\n  output: name\n  kubeconfig: lab.kubeconfig\n- name: broken\n  kubeconfig: not-there\n  timeout: soon\n- name: former\n  vcenterUrl: vc1=https://127.0.0.1:1\n  timeout: soon\n`,
  );
  const lines: (readonly [args: string, env: Readonly<Record<string, string>>, code: number, said: RegExp])[] = [
    // The context that the file names; another one by a variable, and by the line.
    ['status', {}, 0, /^bootimage\.drydock\.dev\/ms-lab-a\n$/],
    ['status', { DRYDOCK_CONTEXT: 'prod' }, 0, /ms\/prod-a[\s\S]*ms\/prod-b/],
    ['status --drydock-context prod', { DRYDOCK_CONTEXT: 'lab' }, 0, /ms[-/]prod-a/],
    ['--drydock-context prod status -o name', {}, 0, /^bootimage\.drydock\.dev\/ms-prod-a\n/],
    // A variable wins over the context, the line over both; an empty one is none.
    ['status', { DRYDOCK_OUTPUT: 'json' }, 0, /^\{/],
    ['status -o yaml', { DRYDOCK_OUTPUT: 'json' }, 0, /^(?:apiVersion|items|kind|cluster|leader)/m],
    ['status', { DRYDOCK_OUTPUT: '' }, 0, /^bootimage/],
    ['status', { DRYDOCK_KUBECONFIG: prodFile }, 0, /ms[-/]prod-a/],
    [
      `status --kubeconfig ${labFile}`,
      { DRYDOCK_KUBECONFIG: prodFile, DRYDOCK_KUBE_CONTEXT: 'nobody' },
      0,
      /ms[-/]lab-a/,
    ],
    ['status --context c --drydock-context names', {}, 0, /ms[-/]lab-a/],
    // Switches, also those that switch something off.
    ['status -o table', { DRYDOCK_NO_HEADERS: '1' }, 0, /^ms\/lab-a /],
    ['status -o table', { DRYDOCK_NO_HEADERS: '0' }, 0, /^SET |\nSET /],
    ['status', { DRYDOCK_CHECK: 'perhaps' }, 2, /^drydock: DRYDOCK_CHECK: 1 or 0 is expected\n$/],
    // The operator's lease is looked for where the context says.
    [
      'status --drydock-context prod',
      {},
      0,
      /^Nobody leads boot images here: their Lease is in namespace openshift-machine-config-operator /,
    ],
    // What cannot be.
    ['wait lab-a', { DRYDOCK_TIMEOUT: 'soon' }, 2, /--timeout soon[\s\S]*--timeout is what DRYDOCK_TIMEOUT says\n/],
    [
      'explain lab-a',
      { DRYDOCK_NAMESPACE: 'default' },
      2,
      /--namespace default: [\s\S]*--namespace is what DRYDOCK_NAMESPACE says\n/,
    ],
    ['status', { DRYDOCK_OUTPUT: 'xml' }, 2, /^drydock: DRYDOCK_OUTPUT, for --output: unknown output format xml: /],
    [
      'status --drydock-context broken',
      {},
      1,
      /not-there: [\s\S]*--kubeconfig is what kubeconfig of context broken in \S+config\.yaml says\n/,
    ],
    [
      'status --drydock-context nobody',
      {},
      2,
      /^drydock: there is no context nobody, which --drydock-context names, in \S+; there are lab, prod, names, broken, former\n/,
    ],
    [
      'status',
      { DRYDOCK_CONFIG: join(scratch, 'nowhere.yaml') },
      2,
      /^drydock: the config file \S+nowhere\.yaml cannot be read: ENOENT/,
    ],
    // A Service that is named drydock.
    [
      'page --service x',
      { DRYDOCK_PORT: 'tcp://10.0.0.1:443', DRYDOCK_BIND_ADDRESS: '10.0.0.1' },
      2,
      /^drydock: --bind-address 10\.0\.0\.1: [\s\S]*is what DRYDOCK_BIND_ADDRESS says/,
    ],
    ['page', { DRYDOCK_PORT: 'http' }, 2, /^drydock: DRYDOCK_PORT, for --port: a port is expected/],
    // FIND-19: one key and one variable say which vCenter; those of earlier versions say what to write instead.
    [
      'explain lab-a --drydock-context former --kubeconfig not-there',
      {},
      1,
      /^warning: vcenterUrl of context former in \S+config\.yaml has another name now: vcenter: vc1=https:\/\/127\.0\.0\.1:1\n/,
    ],
    [
      'explain lab-a --kubeconfig not-there',
      { DRYDOCK_VCENTER_URL: 'vc1=https://ops:planted@127.0.0.1:1' },
      1,
      /^(?![\s\S]*planted)[\s\S]*warning: DRYDOCK_VCENTER_URL has another name now: DRYDOCK_VCENTER=vc1=https:\/\/\S*127\.0\.0\.1:1\n/,
    ],
    [
      'template list',
      { DRYDOCK_VCENTER: 'vc1=https://ops:planted@127.0.0.1:1,vc2' },
      2,
      /^(?![\s\S]*planted)drydock: DRYDOCK_VCENTER names 2 vCenters, and this verb speaks to one: add --url https:\/\/\S*127\.0\.0\.1:1\n/,
    ],
    ['config get-contexts former', {}, 0, /former .* vc1=https/],
    // What a Deployment says runs.
    [
      'operator --roles cook',
      { DRYDOCK_ROLES: 'watch', DRYDOCK_CONTEXT: 'nobody', DRYDOCK_PORT: 'x' },
      2,
      /^drydock: unknown role cook: /,
    ],
  ];
  const ran = await runVerbs(
    lines.map(([args, env]): Line => ({ args: args.split(' '), env: { DRYDOCK_CONFIG: config, ...env } })),
  );
  for (const [at, [args, env, code, said]] of lines.entries()) {
    const { out, errors, code: was } = ran[at] ?? assert.fail('a run for each');
    const about = `${JSON.stringify(env)} ${args}: ${was}\n${out}${errors}`;
    assert.equal(was, code, about);
    assert.match(`${out}${errors}`, said, about);
  }
});

test('OWN-20 config shows contexts and where values are from, and chooses one through a link, keeping mode and words', async () => {
  const folder = join(scratch, 'xdg', 'drydock');
  mkdirSync(folder, { recursive: true });
  const kept = configFile(
    'kept.yaml',
    '# mine\ncontexts:\n- name: lab # one\n  kubeconfig: k\n- name: prod\n  as: alice\n',
  );
  chmodSync(kept, 0o640);
  symlinkSync(kept, join(folder, 'config.yaml'));
  const env = { XDG_CONFIG_HOME: join(scratch, 'xdg'), DRYDOCK_CONFIG: '', DRYDOCK_AS: 'bob', DRYDOCK_CONTEXT: '' };
  const of = (args: string, more: Readonly<Record<string, string>> = {}): Line => ({
    args: args.split(' '),
    env: { ...env, ...more },
  });
  const [none, chosen, current, all, names, sources, wrong, group, operator] = await runVerbs([
    of('config current-context'),
    of('config use-context prod'),
    of('config current-context'),
    of('config get-contexts'),
    of('config get-contexts -o name'),
    { ...of('config view --sources'), args: ['config', 'view', '--sources', 'image history'] },
    of('config use-context nobody'),
    of('config view --sources template'),
    of('config view --sources operator'),
  ]);
  assert.deepEqual([none?.code, none?.out], [1, '']);
  assert.match(none?.errors ?? '', /has no current-context\. Choose one: drydock config use-context NAME\n$/);
  assert.deepEqual([chosen?.out, current?.out], ['context prod is used from now on\n', 'prod\n']);
  assert.equal(
    readFileSync(kept, 'utf8'),
    '# mine\ncurrent-context: prod\ncontexts:\n- name: lab # one\n  kubeconfig: k\n- name: prod\n  as: alice\n',
  );
  assert.equal(statSync(kept).mode & 0o777, 0o640);
  assert.match(all?.out ?? '', /^CURRENT +NAME +CLUSTER.*\n\S? +lab .*\n\* +prod /);
  assert.equal(names?.out, 'lab\nprod\n');
  assert.match(sources?.out ?? '', /\n--as +bob +DRYDOCK_AS\n/);
  assert.deepEqual([wrong?.code, wrong?.out], [2, '']);
  assert.match(group?.errors ?? '', /^drydock: template is a group: name one of its verbs, "template publish", /);
  assert.match(operator?.errors ?? '', /a Deployment says in its args what runs/);
});

test('OWN-20 a file that everybody can change, and a secret that others can read, are refused; the rest of the line is not reached', async () => {
  const open = configFile('open.yaml', 'contexts: []\n');
  chmodSync(open, 0o666);
  const password = join(scratch, 'password');
  writeFileSync(password, 'x', { mode: 0o644 });
  chmodSync(password, 0o644);
  const config = configFile(
    'vcenter.yaml',
    'current-context: a\ncontexts:\n- {name: a, vcenter: "https://127.0.0.1:1", vcenterUsername: u, vcenterPasswordFile: password}\n',
  );
  const away = { GOVC_URL: '', GOVC_USERNAME: '', GOVC_PASSWORD: '' };
  const [changed, read, other] = await runVerbs([
    { args: ['status'], env: { DRYDOCK_CONFIG: open } },
    { args: ['template', 'list'], env: { DRYDOCK_CONFIG: config, ...away } },
    // Another vCenter: neither user nor password of the context is for it.
    { args: ['template', 'list', '--url', 'https://127.0.0.2:1'], env: { DRYDOCK_CONFIG: config, ...away } },
  ]);
  assert.deepEqual(
    [changed?.code, read?.code, other?.code],
    [2, 2, 2],
    `${changed?.errors}${read?.errors}${other?.errors}`,
  );
  assert.match(changed?.errors ?? '', /open\.yaml can be changed by every user of this machine: chmod o-w /);
  assert.match(
    read?.errors ?? '',
    /password, which is vcenterPasswordFile of context a in \S+, can be read by others of this machine: chmod 600 /,
  );
  assert.match(other?.errors ?? '', /there is no user name for https:\/\/127\.0\.0\.2:1/);
});
