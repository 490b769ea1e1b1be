import type { Command } from 'commander';

/** How each verb is called, for verbs whose own help has no example. */
const EXAMPLES: Readonly<Record<string, string>> = {
  doctor: 'doctor --roles boot-images,watch --as system:serviceaccount:drydock:drydock-boot-images',
  explain: 'explain worker-a',
  'image plan': 'image plan worker-a --out worker-a.plan',
  'image apply': 'image apply worker-a.plan',
  'image stage': 'image stage --version v1.34.2 --dry-run',
  'image history': 'image history worker-a',
  'image revert': "image revert worker-a --reason 'nodes do not join' --hold 12h",
  'image release': 'image release worker-a',
  'template publish': 'template publish rhcos.ova --name rhcos --folder /dc1/vm/templates',
  'template list': 'template list --folder /dc1/vm/templates -o wide',
  'template verify': 'template verify rhcos-9.8-0123abcd',
  'template history': 'template history rhcos',
  'template revert': 'template revert rhcos',
  'template gc': 'template gc --dry-run',
  'template adopt': 'template adopt rhcos-by-hand',
  'template mark-key revoke': 'template mark-key revoke 4f0c9e21ab37 --mark-key mark.key',
  'template doctor': 'template doctor --url https://vc1.example --username alice --password-file password',
  'template plan publish': 'template plan publish rhcos.ova --name rhcos --out publish.plan',
  'template plan revert': 'template plan revert rhcos --out revert.plan',
  'template plan gc': 'template plan gc --out gc.plan',
  'template plan adopt': 'template plan adopt rhcos-by-hand --out adopt.plan',
  'template apply': 'template apply publish.plan',
  'watch vms': 'watch vms --container /dc1/vm/cluster-a -o json',
  'watch status': 'watch status --operator http://127.0.0.1:8081',
  'crd check': 'crd check old/crds new/crds -o wide',
  'crd preflight': 'crd preflight --to old/crds --target-version 1.32',
  'crd bridge': 'crd bridge old/crds new/crds',
  'crd doctor': 'crd doctor',
  'release load': 'release load ./payload -o wide',
  'release verify':
    'release verify registry.example/release:4.22.0 --keyring keys.asc --store https://mirror.example/signatures',
  'release diff': 'release diff ./payload-4.21 ./payload-4.22',
  'release plan': 'release plan ./payload --out release.plan',
  'release apply': 'release apply release.plan',
  'release preflight': 'release preflight tools --to 1.2.0',
  'release rollback': 'release rollback tools --to 1.2.0 --dry-run',
  'release rehearse': 'release rehearse --from ./payload-4.21 --to ./payload-4.22 --out rehearsal',
  'release status': 'release status',
  'release history': 'release history tools',
  uninstall: 'uninstall --dry-run',
  operator: 'operator --roles boot-images,watch --log-format json',
  demo: 'demo',
};

/** Adds its example to the help of each verb that there is by now. */
export function addExamples(program: Command): void {
  const walk = (command: Command, path: readonly string[]): void => {
    const example = EXAMPLES[path.join(' ')];
    if (example !== undefined && command.commands.length === 0)
      command.addHelpText('after', `\nExample:\n  ${program.name()} ${example}`);
    for (const inner of command.commands) walk(inner, [...path, inner.name()]);
  };
  walk(program, []);
}
