import type { MoRef } from '@drydock/vsphere';
import type { Act } from './decide/machine.ts';
import type { Proof } from './mark/witness.ts';
import type { Placement, TemplateWish } from './wish.ts';

/**
 * What a machine of the folder is to us. `current`: the template under its stable name, or any published by pointer. `staged`: finished, not published.
 * `unfinished`: an import that did not end. `retired`: kept as a way back. `adopted`: made by hand, brought under management. `foreign`: another
 * owner's, or a machine that claims to have been a template of ours. `unproven`: it bears the owner's mark, and nothing proves it. `unmarked`: a template without a mark that counts. `leftover`: named as another tool names what it leaves half-done.
 * `converted`: it was a template of ours, and somebody made a machine of it. `tampered`: it is another one than was published. `unreadable`: a template whose configuration nobody can read.
 * The last three are kept and not used.
 */
export type TemplateRole =
  | 'current'
  | 'staged'
  | 'unfinished'
  | 'retired'
  | 'adopted'
  | 'foreign'
  | 'unproven'
  | 'unmarked'
  | 'leftover'
  | 'converted'
  | 'tampered'
  | 'unreadable';

/** One line of a listing. */
export interface ListedTemplate {
  readonly name: string;
  readonly instanceUuid: string;
  readonly ref: MoRef;
  readonly release?: string;
  /** Product version as vCenter has it. */
  readonly version?: string;
  /** SHA-256 of the OVA; absent where nobody knows it. */
  readonly digest?: string;
  readonly owner?: string;
  readonly role: TemplateRole;
  /** The name that it has or had for others. */
  readonly stableName?: string;
  readonly isTemplate: boolean;
  /** RFC 3339. */
  readonly createdAt?: string;
  /** Why a mark does not count, or why it is not used. */
  readonly reason?: string;
  /** Of an `unproven` one: it was imported under another identity, and registered again, restored or copied since. */
  readonly registeredAgain?: true;
  /** What proves that it is the owner's; only of the owner's own. */
  readonly proof?: Proof;
  /** Ids of the keys whose codes it bears, whatever these are worth; only of the owner's own, and of what claims to be. */
  readonly keyIds?: readonly string[];
  /** Who said that they point at it. */
  readonly pointers?: readonly string[];
}

/** One check of {@link Verification}. */
export interface VerificationCheck {
  readonly name: 'mark' | 'digest' | 'template' | 'tags' | 'hosts' | 'tasks';
  readonly ok: boolean;
  readonly detail: string;
  /** What a person does about it. */
  readonly next?: string;
}

/** What is known of one template. */
export interface Verification {
  readonly name: string;
  readonly checks: readonly VerificationCheck[];
  /** All checks are. */
  readonly ok: boolean;
}

/** One template that a stable name or base had or has. */
export interface Generation {
  readonly name: string;
  readonly stableName: string;
  /** It bears the stable name. Never for pointer publications: only the pointer knows. */
  readonly current: boolean;
  readonly release?: string;
  readonly digest?: string;
  /** RFC 3339. */
  readonly createdAt?: string;
  /** RFC 3339. */
  readonly retiredAt?: string;
  readonly instanceUuid: string;
  readonly revertible: boolean;
  /** Why it can be gone back to, or why not. */
  readonly reason: string;
}

/** Going back to an earlier generation of a stable name. */
export interface RevertRequest {
  readonly placement: Placement;
  readonly owner: string;
  /** The stable name. */
  readonly name: string;
  /** Instance UUID of the generation; default the one before the current, or the one that an interrupted revert was on its way to. */
  readonly to?: string;
  readonly holder: string;
}

/** Bringing a template under management. */
export interface AdoptRequest {
  readonly placement: Placement;
  readonly owner: string;
  /** Name, path or instance UUID. */
  readonly reference: string;
  /** Default: its product version. */
  readonly release?: string;
  readonly holder: string;
}

/** What a collection is asked for, as plain data. */
export interface GcRequest {
  readonly placement: Placement;
  readonly owner: string;
  readonly keep?: number;
  readonly graceMs?: number;
}

/** What to plan: a wish, or one of the requests. Plain data, so that a plan can be kept in a file and applied later. */
export type PlanRequest =
  | { readonly kind: 'publish'; readonly wish: TemplateWish }
  | { readonly kind: 'revert'; readonly wish: RevertRequest }
  | { readonly kind: 'adopt'; readonly wish: AdoptRequest }
  | { readonly kind: 'gc'; readonly wish: GcRequest };

/** One step of a plan. */
export interface PlannedStep {
  readonly step: Act['kind'] | 'adopt';
  /** The calls that change something, in order: `Rename_Task vm-12 "a" -> "b"`. A machine that does not exist yet goes by its name. */
  readonly calls: readonly string[];
  /** The step as a sentence. */
  readonly text: string;
  /** What the machine is called when the step begins. */
  readonly machine?: string;
}

/** What an import moves and takes. */
export interface ImportAmounts {
  /** Bytes of the image; absent where nobody says it before it is read. */
  readonly bytes?: number;
  /** Bytes that it takes on the datastore, estimated where the descriptor does not say. */
  readonly needed?: number;
  /** The image is on this machine, so that nothing is downloaded. */
  readonly here: boolean;
  readonly datastore: string;
  /** Bytes that the datastore has free now. */
  readonly free: number;
  /** Bytes that must stay free there. */
  readonly reserve: number;
}

/** What would be done, and to which world. */
export type Plan = PlanRequest & {
  readonly version: 1;
  readonly server: string;
  readonly folder: string;
  /** The name that is published, reverted or adopted; the folder for `gc`. */
  readonly target: string;
  readonly steps: readonly PlannedStep[];
  /** Where an image is imported. */
  readonly amounts?: ImportAmounts;
  /** SHA-256 of what was observed, as far as it matters to the plan. */
  readonly world: string;
};
