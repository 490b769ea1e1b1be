import type { CallOptions, MoRef } from '@drydock/vsphere';
import type { ActContext } from '../act/act.ts';
import { converge } from '../act/converge.ts';
import type { Ports } from '../act/ports.ts';
import type { Wanted } from '../decide/machine.ts';
import { TemplateError } from '../errors.ts';
import { attemptsOf, NAME_LIMIT } from '../names.ts';
import type { Liveness, Scope } from '../observe/observe.ts';
import { resolveScope, resolveTags } from '../observe/place.ts';
import type { PublishedTemplate, PublishOptions } from '../store.ts';
import type { TemplateWish } from '../wish.ts';

/** Publishes by pointer or swap; see `TemplateStore.publish`. */
export async function publishTemplate(
  ports: Ports,
  wish: TemplateWish,
  options: PublishOptions,
): Promise<PublishedTemplate> {
  checkName(wish);
  const scope = await resolveScope(ports.vcenter, wish.placement, options);
  const { wanted, liveness } = await preparePublication(ports, scope, wish, options);
  let uploads = 0;
  const context: ActContext = {
    ...scope,
    ports,
    owner: wish.cluster,
    wish,
    importing: {
      onUpload: () => {
        uploads += 1;
      },
      announce: options.announce,
      onProgress: options.onProgress,
    },
  };
  const { expectWorld, waitMs, onWait, beforeSwap } = options;
  const done = await converge({ context, wanted, liveness, expectWorld, waitMs, onWait, beforeSwap }, options);
  const { name, absentMs, retired } = done;
  return {
    name,
    release: wish.image.release,
    adopted: uploads === 0,
    uploads,
    ...(absentMs === undefined ? {} : { absentMs }),
    ...(retired === undefined ? {} : { retired }),
  };
}

/** What decisions about a wish need; nothing but machines may bear its name. */
export async function preparePublication(
  ports: Ports,
  { folder }: Scope,
  wish: TemplateWish,
  options: CallOptions & Pick<PublishOptions, 'holderIsLive'>,
): Promise<{ readonly wanted: Wanted; readonly liveness: Liveness }> {
  const { witnesses, running } = ports;
  await checkBearer(ports, wish, folder, options);
  const wanted = wantedOf(wish, await resolveTags(ports.vcenter, wish, options));
  const { cluster: owner, holder } = wish;
  return { wanted, liveness: { owner, witnesses, running, holder, holderIsLive: options.holderIsLive } };
}

/** A wish as decisions see it. */
function wantedOf(wish: TemplateWish, tagIds: readonly string[]): Wanted {
  const { cluster: owner, image, publication } = wish;
  const content = { kind: 'image', digest: image.sha256, attempts: attemptsOf(wish) } as const;
  if (publication?.kind !== 'swap') return { owner, content, tagIds };
  return { owner, content, tagIds, swap: { name: publication.name, unmarked: publication.unmarked ?? 'refuse' } };
}

/** A stable name is used as it is: what vCenter cannot store is refused before anything else. */
export function checkName({ publication }: TemplateWish): void {
  if (publication?.kind !== 'swap') return;
  const length = Array.from(publication.name).length;
  if (length >= 1 && length <= NAME_LIMIT) return;
  // BI-V138: upstream's words.
  const message =
    length === 0
      ? 'the name of the template is empty'
      : `length of VM template name \`${publication.name}\` exceeds the permitted limit of ${NAME_LIMIT} characters`;
  throw new TemplateError({ code: 'NAME_TOO_LONG', message });
}

/** A folder or anything else that is no machine does not show among machines, and would stop the last rename. */
async function checkBearer(
  { vcenter }: Ports,
  { publication }: TemplateWish,
  folder: MoRef,
  call: CallOptions,
): Promise<void> {
  if (publication?.kind !== 'swap') return;
  const bearer = await vcenter.findChild(folder, publication.name, call);
  if (bearer === undefined || bearer.type === 'VirtualMachine') return;
  const message = `${publication.name} (${bearer.type}:${bearer.value}) is no machine`;
  throw new TemplateError({ code: 'NAME_TAKEN', message });
}
