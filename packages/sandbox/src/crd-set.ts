/** Which CRDs are taken out of a Go module. */
export interface CrdSet {
  /** Also the name of the folder they are copied to, and what `startSandbox({ crds })` calls them. */
  readonly name: string;
  /** Folder in `go/` whose go.mod pins the version and whose go.sum pins the content. */
  readonly pin: string;
  /** Files in the module, relative to its root; they may be globs. */
  readonly files: readonly string[];
}
