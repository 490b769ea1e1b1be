import type { Era } from '@drydock/crd';
import type { ServingCertificate } from './guard.ts';

/** A cluster that is there for one rehearsal. Disposal ends it without a trace. */
export interface RehearsalCluster extends AsyncDisposable {
  /** Writes a kubeconfig of a user and returns its path. */
  kubeconfigFor(subject: { readonly user: string; readonly groups?: readonly string[] }): string;
  /** Folder for files that go with the cluster. */
  readonly directory: string;
  /** How pods get on, where there are controllers and a kubelet; absent: nobody makes pods. */
  readonly podRules?: (rules: readonly { readonly image: string; readonly pod: 'never-ready' }[]) => Promise<void>;
  /** Kills the API server and starts one of this kind on the same data, as an update or rollback of a control plane does. Resolves when it answers. */
  switchEra(era: Era): Promise<void>;
}

/** What a rehearsal needs of whoever starts servers and programs. */
export interface RehearsalPorts {
  readonly startCluster: (wish: {
    readonly era: Era;
    readonly apiserverFlags: readonly string[];
    /** With controllers, a scheduler and nodes. */
    readonly workloads: boolean;
    readonly signal: AbortSignal;
  }) => Promise<RehearsalCluster>;
  /** `drydock operator` as a process of its own. */
  readonly startOperator: (args: readonly string[], logFile: string) => RunningOperator;
  readonly issueServer: () => ServingCertificate;
}

/** The product as it is deployed. Disposal ends it with SIGTERM and waits. */
export interface RunningOperator extends AsyncDisposable {
  /** Throws with the end of its log when it has ended by itself. */
  alive(): void;
  /** Ends it as a power cut does, and waits until it is gone. */
  crash(): Promise<void>;
}
