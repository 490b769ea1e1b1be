/** Whether machines can be made in a place now, and become what they should; `unmanaged` where Drydock skips their machine sets on purpose. */
export type Answer = 'yes' | 'wait' | 'no' | 'unknown' | 'unmanaged';

/** Number of machine sets by their answer. */
export type Share = Readonly<Record<Answer, number>>;

/** Every row of the page has an identity, by which its changes are sent. */
export interface Row {
  readonly id: string;
}

/** Bytes on their way. */
export interface Progress {
  readonly bytes?: number;
  /** Absent while unknown. */
  readonly total?: number;
  /** Bytes per second. */
  readonly rate?: number;
  readonly etaSeconds?: number;
}

/** Why an answer is not a plain yes; of equal ones there is one. */
export interface Because {
  readonly answer: Answer;
  /** In the words of `drydock status`. */
  readonly text: string;
  readonly nextStep?: string;
  /** Those of the sets that it is said of, the first five; none where it is said of the place. */
  readonly sets: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

/** "Can I scale now?" for one failure domain, or one region where none is known. */
export interface AnswerRow extends Row {
  /** Name of the cluster, with its namespace where it is one of Cluster API. */
  readonly cluster: string;
  readonly kind: string;
  readonly region: string;
  readonly failureDomain: string;
  readonly answer: Answer;
  /** Sets there, and those of them of which the answer is yes. */
  readonly sets: number;
  readonly ready: number;
  readonly share: Share;
  /** The worst first. */
  readonly because: readonly Because[];
  readonly progress?: Progress;
}

/** One machine set: what `drydock status` says of it. */
export interface SetRow extends Row {
  readonly set: string;
  readonly namespace: string;
  readonly platform: string;
  readonly region: string;
  readonly failureDomain: string;
  readonly current: string;
  readonly target: string;
  readonly phase: string;
  readonly progress: string;
  readonly reason: string;
  readonly message: string;
  readonly nextStep: string;
  readonly since: string;
  readonly revertTo: string;
  readonly policy: string;
  readonly pinned: string;
  readonly answer: Answer;
}

/** The sets that have one release while one is asked for. */
export interface VersionRow extends Row {
  readonly current: string;
  readonly target: string;
  /** The day on which `current` was built (RFC 3339 full-date); '' where its name does not say it. */
  readonly built: string;
  /** How far `current` is from `target`. */
  readonly skew: 'none' | 'older' | 'newer' | 'unknown';
  readonly sets: number;
  /** The first five of them. */
  readonly names: readonly string[];
}

/** An image that is being made or switched to. */
export interface OperationRow extends Row {
  readonly set: string;
  readonly phase: string;
  readonly target: string;
  readonly place: string;
  readonly since: string;
  readonly progress: Progress;
  readonly text: string;
}

/** Something that happened, or equal things that happened on one day (UTC). */
export interface TimelineRow extends Row {
  /** When it happened last (RFC 3339). */
  readonly time: string;
  /** When the first of them happened; `time` where it happened once. */
  readonly first: string;
  readonly count: number;
  readonly kind: 'event' | 'image' | 'pin' | 'release';
  readonly warning: boolean;
  /** The first five of what it happened to: `ms/worker-a`, `Payload tools`. */
  readonly about: readonly string[];
  /** How many more there are. */
  readonly more: number;
  readonly what: string;
  readonly text: string;
}

/** How a vCenter is. */
export interface VCenterRow extends Row {
  readonly server: string;
  readonly asOf: string;
  readonly version: string;
  readonly sessions?: number;
  readonly answer: Answer;
  readonly because: readonly Because[];
  readonly datastores: readonly {
    readonly path: string;
    readonly failureDomains: readonly string[];
    readonly accessible: boolean;
    readonly free: number;
    readonly capacity?: number;
    readonly needed?: number;
  }[];
}

/** What a release says of itself in one condition. */
export interface ReleaseCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** A release and its way back. */
export interface ReleaseRow extends Row {
  readonly name: string;
  readonly version: string;
  readonly progress: string;
  readonly conditions: readonly ReleaseCondition[];
  readonly waiting: readonly string[];
  /** The releases before `version`, the newest first. */
  readonly history: readonly {
    readonly version: string;
    readonly state: string;
    readonly begun: string;
    readonly ended: string;
  }[];
}

/** A sentence above everything else. */
export interface NoteRow extends Row {
  readonly text: string;
  readonly nextStep: string;
}

/** What is one thing, and not rows. */
export interface PageHead {
  readonly title: string;
  /** The worst of all managed machine sets; `unmanaged` where there are none. */
  readonly answer: Answer;
  readonly share: Share;
  /** The share in words: `Yes for 3, 1 not managed`. */
  readonly text: string;
  readonly leader: { readonly state: string; readonly text: string; readonly nextStep: string };
}

/** The rows of the page by their section. */
export interface PageSections {
  readonly notes: readonly NoteRow[];
  readonly answers: readonly AnswerRow[];
  readonly versions: readonly VersionRow[];
  readonly operations: readonly OperationRow[];
  readonly sets: readonly SetRow[];
  readonly timeline: readonly TimelineRow[];
  readonly vcenters: readonly VCenterRow[];
  readonly releases: readonly ReleaseRow[];
}

/** The page as a value; JSON. Every text in it is one line, without a character that nobody sees. */
export interface PageState {
  /** When the cluster was read (RFC 3339). */
  readonly asOf: string;
  readonly head: PageHead;
  readonly sections: PageSections;
}
