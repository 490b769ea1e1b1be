import { isVimError, type MoRef } from '@drydock/vsphere';
import { decide, type Step } from './decide.ts';
import { mayPass, reasonOf, TemplateError } from './errors.ts';
import { importTemplate, type Ports } from './import.ts';
import { readMark, VERIFIED_KEY } from './mark.ts';
import { attemptsOf } from './names.ts';
import { observe, type Scope } from './observe.ts';
import { resolveFolder, resolveTags } from './place.ts';
import type {
  HolderIsLive,
  PublishedTemplate,
  StoreOptions,
  TemplateOperation,
  TemplateProgress,
  TemplateWish,
} from './store.ts';

/** Options of {@link publishTemplate}; see `TemplateStore.publish`. */
export interface PublishOptions extends StoreOptions {
  readonly announce?: (operation: TemplateOperation) => Promise<void>;
  readonly onProgress?: (progress: TemplateProgress) => void;
  readonly holderIsLive: HolderIsLive;
  /** How long to wait for another holder's import; default one minute. */
  readonly waitMs?: number;
}

/** More steps than any history needs; beyond it two writers undo each other's work. */
const MAX_STEPS = 30;
const POLL_MS = 2000;

/**
 * Pointer publication: observe, decide, act, until the wish is met. A step that fails is looked at before it is reported: where the folder shows that it
 * took effect (the answer was lost) or that somebody else did it, the loop goes on; an unchanged folder means that it failed.
 */
export async function publishTemplate(
  ports: Ports,
  wish: TemplateWish,
  options: PublishOptions,
): Promise<PublishedTemplate> {
  const { vcenter, clock } = ports;
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const folder = await resolveFolder(vcenter, wish.placement, call);
  const tagIds = await resolveTags(vcenter, wish, call);
  const attempts = attemptsOf(wish);
  const digest = wish.image.sha256;
  const { holderIsLive } = options;
  const scope: Scope = {
    cluster: wish.cluster,
    digest,
    attempts,
    holder: wish.holder,
    holderIsLive,
    running: ports.running,
  };
  const deadline = clock.now() + (options.waitMs ?? 60_000);
  let uploads = 0;
  let failed: { readonly step: Step; readonly error: unknown } | undefined;

  for (let count = 0; count < MAX_STEPS; ) {
    options.signal?.throwIfAborted();
    const observed = await observe(vcenter, folder, scope, clock.now(), call).catch((error: unknown) => {
      throw failed === undefined ? error : asTemplateError(failed.step, failed.error);
    });
    const step = decide(observed, { digest, attempts, tagIds });
    if (failed !== undefined && same(failed.step, step)) throw asTemplateError(step, failed.error);
    failed = undefined;
    if (step.kind === 'done') return { name: step.name, release: wish.image.release, adopted: uploads === 0, uploads };
    if (step.kind === 'blocked') throw new TemplateError({ code: 'NAME_TAKEN', message: step.reason });
    if (step.kind === 'wait') {
      if (clock.now() >= deadline)
        throw new TemplateError({ code: 'UPLOAD_IN_PROGRESS', message: step.reason, retriable: true });
      await clock.sleep(POLL_MS, call);
      continue;
    }
    count += 1;
    try {
      await act(ports, wish, folder, step, options, () => {
        uploads += 1;
      });
    } catch (error) {
      failed = { step, error };
    }
  }
  throw new TemplateError({
    code: 'NOT_CONVERGED',
    message: `the template ${attempts[0]?.name ?? ''} is not in place after ${MAX_STEPS} steps`,
    retriable: true,
  });
}

async function act(
  ports: Ports,
  wish: TemplateWish,
  folder: MoRef,
  step: Exclude<Step, { kind: 'done' | 'wait' | 'blocked' }>,
  options: PublishOptions,
  onUpload: () => void,
): Promise<void> {
  const { vcenter } = ports;
  const call = options.signal === undefined ? {} : { signal: options.signal };
  switch (step.kind) {
    case 'import': {
      const { announce, onProgress } = options;
      await importTemplate(ports, wish, { folder, attempt: step.attempt, onUpload, announce, onProgress, ...call });
      break;
    }
    case 'markAsTemplate':
      options.onProgress?.({ step: 'Publishing' });
      await vcenter.markAsTemplate(step.ref, call);
      break;
    case 'attachTags':
      await vcenter.tags.attach(step.ref, step.tagIds, call);
      break;
    case 'destroy':
      await destroyUnfinished(ports, folder, step, call);
      break;
  }
}

/** Looks once more: since the observation it may have been finished, or the reference may mean something else. */
async function destroyUnfinished(
  { vcenter }: Ports,
  folder: MoRef,
  step: Extract<Step, { kind: 'destroy' }>,
  call: StoreOptions,
): Promise<void> {
  const vm = await vcenter.vm(step.ref, call);
  if (vm === undefined) return;
  const reading = readMark(vm, folder);
  const unchanged = reading.kind === 'ours' && reading.mark.instanceUuid === step.instanceUuid && !vm.isTemplate;
  const finished = vm.extraConfig.has(VERIFIED_KEY) && !step.finished;
  if (unchanged && !finished) await vcenter.destroy(step.ref, call);
}

function same(a: Step, b: Step): boolean {
  if (a.kind === 'import' && b.kind === 'import') return a.attempt.name === b.attempt.name;
  return a.kind === b.kind && 'ref' in a && 'ref' in b && a.ref.value === b.ref.value;
}

const DOING: Readonly<Record<Step['kind'], string>> = {
  import: 'import the template',
  markAsTemplate: 'mark the machine as template',
  attachTags: 'attach tag: unable to attach tag',
  destroy: 'remove an unfinished import',
  done: '',
  wait: '',
  blocked: '',
};

/** A datastore is full: somebody will free space on it, and nothing is watched that would tell. */
const SPACE_FAULTS = ['NoDiskSpace', 'InsufficientStorageSpace'] as const;

function asTemplateError(step: Step, error: unknown): unknown {
  if (error instanceof TemplateError || (error instanceof Error && error.name === 'AbortError')) return error;
  const name = step.kind === 'import' ? step.attempt.name : 'name' in step ? step.name : '';
  const message = `failed to ${DOING[step.kind]}: ${name}: ${reasonOf(error)}`;
  if (isVimError(error) && SPACE_FAULTS.some((fault) => error.fault?.has(fault)))
    return new TemplateError({ code: 'DATASTORE_UNUSABLE', message, retriable: true, cause: error });
  return new TemplateError({
    code: step.kind === 'attachTags' ? 'TAG_NOT_FOUND' : 'IMPORT_FAILED',
    message,
    retriable: mayPass(error),
    cause: error,
  });
}
