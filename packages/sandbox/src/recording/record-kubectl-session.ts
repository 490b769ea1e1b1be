import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../sandbox.ts';

// A kubectl session against an embedded server, for `request-recorder.ts`:
// `DRYDOCK_REQUEST_LOG=FILE NODE_OPTIONS="--import=$PWD/packages/sandbox/src/recording/request-recorder.ts" node packages/sandbox/src/recording/record-kubectl-session.ts`.

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: { name: shop, namespace: shop }
spec:
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec: { containers: [{ name: main, image: "shop:1" }] }
`;

const SESSION: readonly string[] = [
  'api-resources',
  'api-versions',
  'cluster-info',
  'create namespace shop',
  'apply -f FILE',
  'apply --server-side --force-conflicts -f FILE',
  'diff -f FILE',
  'replace -f FILE',
  'explain deployment.spec',
  'get all -n shop',
  'get all -A -o wide',
  'get deployments,services,configmaps,secrets,pods,nodes,events -n shop',
  'get deployment shop -n shop -o yaml',
  'get pods -n shop --watch --request-timeout=1s',
  'describe deployment shop -n shop',
  'scale deployment shop -n shop --replicas=3',
  'autoscale deployment shop -n shop --max=3',
  'set image deployment/shop -n shop main=shop:2',
  'set env deployment/shop -n shop MODE=fast',
  'rollout status deployment/shop -n shop --timeout=1s',
  'rollout history deployment/shop -n shop',
  'rollout restart deployment/shop -n shop',
  'rollout undo deployment/shop -n shop',
  'rollout pause deployment/shop -n shop',
  'label deployment shop -n shop tier=web',
  'annotate deployment shop -n shop note=first',
  'patch deployment shop -n shop -p {"spec":{"replicas":2}}',
  'patch deployment shop -n shop --type merge -p {"spec":{"replicas":1}}',
  'patch deployment shop -n shop --type json -p [{"op":"replace","path":"/spec/replicas","value":2}]',
  'expose deployment shop -n shop --port=80',
  'create configmap settings -n shop --from-literal=mode=fast',
  'create secret generic token -n shop --from-literal=user=admin',
  'create serviceaccount robot -n shop',
  'create token robot -n shop',
  'create role reader -n shop --verb=get --resource=pods',
  'create rolebinding reader -n shop --role=reader --serviceaccount=shop:robot',
  'create clusterrole reader --verb=get --resource=pods',
  'create clusterrolebinding reader --clusterrole=reader --user=jane',
  'create job once -n shop --image=shop:1',
  'create cronjob often -n shop --image=shop:1 --schedule=*/5****',
  'create ingress shop -n shop --rule=shop.example/*=shop:80',
  'create poddisruptionbudget shop -n shop --selector=app=shop --min-available=1',
  'create quota limits -n shop --hard=pods=10',
  'create priorityclass low --value=10',
  'run one -n shop --image=shop:1',
  'get pod one -n shop -o yaml',
  'logs one -n shop',
  'debug one -n shop --image=debug:1 --target=one',
  'auth can-i create pods -n shop',
  'auth can-i --list -n shop',
  'auth whoami',
  'cordon nowhere',
  'drain nowhere',
  'top nodes',
  'wait deployment/shop -n shop --for=create --timeout=1s',
  'edit configmap settings -n shop',
  'get crds',
  'get --raw /version',
  'delete pod one -n shop --now',
  'delete deployment shop -n shop --cascade=orphan --wait=false',
  'delete configmap,secret --all -n shop --wait=false',
  'delete namespace shop --wait=false',
];

await using sandbox = await startSandbox({ backend: 'embedded' });
const folder = mkdtempSync(join(tmpdir(), 'kubectl-session-'));
const file = join(folder, 'deployment.yaml');
writeFileSync(file, DEPLOYMENT);
for (const line of SESSION) {
  const words = line.split(' ').map((word) => (word === 'FILE' ? file : word.replace('*/5****', '*/5 * * * *')));
  const env = { ...process.env, NODE_OPTIONS: '', KUBECONFIG: sandbox.kubeconfig, HOME: folder, KUBE_EDITOR: 'touch' };
  const { status, stderr } = spawnSync('kubectl', words, { env, encoding: 'utf8', timeout: 20_000 });
  if (status !== 0) process.stdout.write(`kubectl ${line}: ${status} ${stderr.trim().split('\n').at(-1)}\n`);
}
rmSync(folder, { recursive: true });
