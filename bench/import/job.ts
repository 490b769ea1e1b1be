/** One import, as both workers are told it: a line of JSON. */
export interface ImportJob {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM file of the CA that signed the server's certificate. */
  readonly ca: string;
  /** The OVA and its digest, which the worker checks before the import. */
  readonly ova: string;
  readonly sha256: string;
  /** Name of the template; ours adds a suffix of its own. */
  readonly name: string;
  readonly tag: string;
  /** Absolute inventory paths. */
  readonly datacenter: string;
  readonly folder: string;
  readonly cluster: string;
  readonly datastore: string;
  readonly network: string;
  /** Of the peer: whether it hashes while it sends, and not before that or in the same thread. */
  readonly beside: boolean;
}

/** What a worker answers: a line of JSON. */
export interface ImportResult {
  /** Name of the template that now exists. */
  readonly name: string;
  /** From the login to the template, the process being up already. */
  readonly wallSeconds: number;
  /** User and system time of the process in that span. */
  readonly cpuSeconds: number;
  /** VmHWM of the process so far, in 10^6 bytes. */
  readonly peakRssMB: number;
}
