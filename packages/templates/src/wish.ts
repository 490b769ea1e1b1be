/** Where a template lives: one failure domain of one vCenter. Names are inventory paths as Infrastructure and providerSpec give them. */
export interface Placement {
  readonly server: string;
  readonly datacenter: string;
  /** The failure domain's name, used in template names and messages. */
  readonly failureDomain: string;
  readonly folder: string;
  readonly datastore: string;
  readonly resourcePool: string;
  readonly computeCluster: string;
  readonly networks: readonly string[];
}

/** The image to publish. */
export interface TemplateImage {
  /** `artifacts.vmware.release` of the stream. */
  readonly release: string;
  /** URL (http, https) or file URL of the OVA. */
  readonly location: string;
  /** Lower-case hex of the whole OVA. */
  readonly sha256: string;
}

/**
 * How a template becomes the one that others use. `pointer`: it gets a name that was never used before; whoever refers to templates is told that name.
 * `swap`: it takes over a stable name by two renames back to back, and the one before it is kept under a retired name. The name is literal, not a path,
 * and means the placement's folder.
 */
export type Publication =
  | { readonly kind: 'pointer' }
  | {
      readonly kind: 'swap';
      readonly name: string;
      /** What becomes of a template under the name that bears no mark: `refuse` (default) leaves all as it is, `retire` keeps it under a retired name. */
      readonly unmarked?: 'refuse' | 'retire';
    };

/** A wish for one template. Two equal wishes end in one template. */
export interface TemplateWish {
  /** ClusterVersion's clusterID (or another stable UID): the owner in the mark. */
  readonly cluster: string;
  /** `<infrastructureName>-rhcos-<failureDomain>`; cut so that the unique name stays within 80 characters. */
  readonly base: string;
  readonly image: TemplateImage;
  readonly placement: Placement;
  /** undefined: taken from the disks of the template that is replaced, else ''. */
  readonly diskProvisioning?: string;
  /** Bare name or path of the template that this one replaces; only its disks are read, see {@link TemplateWish.diskProvisioning}. */
  readonly replaces?: string;
  /** Default pointer. */
  readonly publication?: Publication;
  /** Names a tag that must exist: the installer's tag is named after the infrastructure. Without a cluster there is none. */
  readonly tagName?: string;
  readonly tagIds: readonly string[];
  /** Identity of the Lease holder that acts, unique per process: recorded in the mark. */
  readonly holder: string;
  /** Bytes that must stay free on the datastore after the import; default 1 GiB. */
  readonly reserveBytes?: number;
}
