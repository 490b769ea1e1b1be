/** When a pass ends early. */
export interface PassSignals {
  /** Nothing may be written any more. */
  readonly signal?: AbortSignal | undefined;
  /** The process is to stop: what is only read, and images that are only being downloaded, are left. */
  readonly stopping?: AbortSignal;
  /** Something changed: sets whose images are only being downloaded are left to the next pass, which comes at once and decides by what is so now. */
  readonly news?: AbortSignal;
}
