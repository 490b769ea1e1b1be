import type { Command } from 'commander';
import { addAdopt } from './adopt.ts';
import { addApply } from './apply.ts';
import { addDoctor } from './doctor.ts';
import { commandPath, commonFlags } from './flags.ts';
import { addGc } from './gc.ts';
import { addHistory } from './history.ts';
import { addList } from './list.ts';
import { addMarkKey } from './mark-key-revoke.ts';
import { addPlan } from './plan.ts';
import { addPublish } from './publish.ts';
import { addRevert } from './revert.ts';
import { addVerify } from './verify.ts';

/** Adds `drydock template <verb>`: templates on one vCenter, without Kubernetes. */
export function addTemplate(program: Command): void {
  const group = commonFlags(
    program
      .command('template')
      .description('publish, list and revert vSphere templates, without Kubernetes')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText(
        'after',
        `
Flags win over the environment (govc's variables: GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, …), that over the config file.
What is not given is taken where the inventory has exactly one of its kind.
Exit codes: 0 done, 1 failed, 2 usage, 3 blocked, 4 the world moved, 5 undecided, 6 changes pending (plan), 130 and 143 interrupted.`,
      ),
  );
  for (const add of [
    addPublish,
    addList,
    addVerify,
    addHistory,
    addRevert,
    addGc,
    addAdopt,
    addDoctor,
    addPlan,
    addApply,
    addMarkKey,
  ]) {
    add(group);
  }
  for (const verb of [...group.commands, ...group.commands.flatMap(({ commands }) => commands)])
    verb.showHelpAfterError(`next: ${commandPath(verb)} --help`);
}
