/** A model file on this machine, before anybody has looked into it. */
export interface FoundFile {
  /** By which it may be asked for: as its program calls it, without the ending. */
  readonly name: string;
  readonly path: string;
  readonly program: string;
  /** What the file must hash to, where its place tells. */
  readonly sha256?: string;
}
